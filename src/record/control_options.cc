#include "record/control_options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/files.h"

namespace sonde::record {
namespace {

using Type = JsonValue::Type;

struct FeatureKey {
  const char* key;
  uint32_t feature;
};
constexpr FeatureKey kFeatureKeys[] = {
    {"with_stack", SONDE_FEATURE_STACKS},
    {"record_shapes", SONDE_FEATURE_SHAPES},
    {"profile_memory", SONDE_FEATURE_MEMORY},
    {"with_modules", SONDE_FEATURE_MODULES},
};
// Names that the list "features" may hold.
constexpr FeatureKey kFeatureNames[] = {
    {"shapes", SONDE_FEATURE_SHAPES}, {"stacks", SONDE_FEATURE_STACKS},
    {"memory", SONDE_FEATURE_MEMORY}, {"modules", SONDE_FEATURE_MODULES},
    {"ops", SONDE_FEATURE_OPS},       {"markers", SONDE_FEATURE_MARKERS},
};

Status WrongType(std::string_view key, std::string_view wanted) {
  return base::InvalidArgumentError(std::string(key) + " must be " + std::string(wanted));
}

Status ApplyFeatures(const JsonValue& list, SessionConfig* config) {
  if (!list.Is(Type::kArray)) return WrongType("features", "a list of names");
  config->features = SONDE_FEATURE_RECORDING;
  for (const JsonValue& item : list.items) {
    const FeatureKey* found = nullptr;
    for (const FeatureKey& known : kFeatureNames) {
      if (item.Is(Type::kString) && item.text == known.key) found = &known;
    }
    if (found == nullptr) {
      return base::InvalidArgumentError("unknown feature '" + item.text +
                                        "' (shapes, stacks, memory, modules, ops, markers)");
    }
    config->features |= found->feature;
  }
  return {};
}

Status ApplySwitches(const JsonValue& options, SessionConfig* config) {
  for (const FeatureKey& known : kFeatureKeys) {
    const JsonValue* value = options.Find(known.key);
    if (value == nullptr) continue;
    if (!value->Is(Type::kBool)) return WrongType(known.key, "true or false");
    config->features =
        value->boolean ? config->features | known.feature : config->features & ~known.feature;
  }
  const JsonValue* activities = options.Find("activities");
  if (activities != nullptr) {
    if (!activities->Is(Type::kArray)) return WrongType("activities", "a list");
    // Also of the device alone: where there is none, the operators are the device's work.
    config->features &= ~uint32_t{SONDE_FEATURE_OPS};
    if (!activities->items.empty()) config->features |= SONDE_FEATURE_OPS;
  }
  return {};
}

Status ApplyMarkers(const JsonValue& options, SessionConfig* config) {
  for (const char* key : {"mstx", "msprof_tx"}) {
    const JsonValue* value = options.Find(key);
    // False is the peers' default and does not remove features that the program itself asked for.
    if (value != nullptr && value->boolean) config->features |= SONDE_FEATURE_MARKERS;
  }
  for (const char* key : {"mstx_domain_include", "mstx_domain_exclude"}) {
    const JsonValue* value = options.Find(key);
    if (value == nullptr) continue;
    if (!value->Is(Type::kArray)) return WrongType(key, "a list of texts");
    std::string joined;
    for (const JsonValue& item : value->items) {
      if (!item.Is(Type::kString)) return WrongType(key, "a list of texts");
      joined += (joined.empty() ? "" : ",") + item.text;
    }
    (std::strcmp(key, "mstx_domain_include") == 0 ? config->domain_include
                                                  : config->domain_exclude) = joined;
  }
  return {};
}

Result<uint64_t> WholeNumber(const JsonValue& value, std::string_view key, double limit) {
  if (!value.Is(Type::kNumber) || value.number < 0 || value.number > limit ||
      value.number != static_cast<double>(static_cast<uint64_t>(value.number))) {
    return WrongType(key, "a whole number from 0");
  }
  return static_cast<uint64_t>(value.number);
}

Status ApplyFolderAndLimits(const JsonValue& options, SessionConfig* config) {
  if (const JsonValue* value = options.Find("worker_name"); value != nullptr) {
    if (!value->Is(Type::kString)) return WrongType("worker_name", "a text");
    config->worker_name = value->text;
  }
  if (const JsonValue* value = options.Find("keep_last_seconds"); value != nullptr) {
    SONDE_ASSIGN_OR_RETURN(const uint64_t seconds, WholeNumber(*value, "keep_last_seconds", 1e9));
    config->keep_last_seconds = static_cast<uint32_t>(seconds);
  }
  if (const JsonValue* value = options.Find("max_bytes"); value != nullptr) {
    SONDE_ASSIGN_OR_RETURN(config->max_bytes, WholeNumber(*value, "max_bytes", 9e15));
  }
  return {};
}

// Empty for other values than numbers, texts, true and false.
std::string ScalarText(const JsonValue& value) {
  char number[32];
  switch (value.type) {
    case Type::kBool:
      return value.boolean ? "true" : "false";
    case Type::kNumber:
      std::snprintf(number, sizeof(number), "%.17g", value.number);
      return number;
    case Type::kString:
      return QuoteJson(value.text);
    default:
      return "";
  }
}

}  // namespace

Status ApplyOptions(const JsonValue& options, SessionConfig* config) {
  if (!options.Is(Type::kObject)) return base::InvalidArgumentError("a JSON object is expected");
  if (const JsonValue* features = options.Find("features"); features != nullptr) {
    SONDE_RETURN_IF_ERROR(ApplyFeatures(*features, config));
  }
  SONDE_RETURN_IF_ERROR(ApplySwitches(options, config));
  SONDE_RETURN_IF_ERROR(ApplyMarkers(options, config));
  const JsonValue* experimental = options.Find("experimental_config");
  if (experimental != nullptr) SONDE_RETURN_IF_ERROR(ApplyMarkers(*experimental, config));
  return ApplyFolderAndLimits(options, config);
}

std::string WithDefaults(const std::string& text, const JsonValue& options,
                         const std::string& defaults) {
  const Result<JsonValue> usual = ParseJson(defaults);
  const size_t end = text.rfind('}');
  if (!usual.ok() || !usual->Is(Type::kObject) || end == std::string::npos) return text;
  std::string result = text.substr(0, end);
  bool is_first = options.keys.empty();
  for (size_t i = 0; i < usual->keys.size(); ++i) {
    const JsonValue& value = usual->items[i];
    const std::string written = ScalarText(value);
    if (written.empty() || options.Find(usual->keys[i]) != nullptr) continue;
    result += (is_first ? "" : ", ") + QuoteJson(usual->keys[i]) + ": " + written;
    is_first = false;
  }
  return result + text.substr(end);
}

std::optional<int64_t> ProcessRank() {
  const char* text = std::getenv("RANK");
  if (text == nullptr) return std::nullopt;
  int64_t rank = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, rank);
  if (error != std::errc() || rest != end || rank < 0) return std::nullopt;
  return rank;
}

Result<bool> RankIsListed(const JsonValue* rank_list) {
  if (rank_list == nullptr || rank_list->Is(Type::kNull)) return true;
  if (!rank_list->Is(Type::kArray)) return WrongType("rank_list", "a list of numbers");
  const std::optional<int64_t> rank = ProcessRank();
  bool listed = rank_list->items.empty() || !rank.has_value();
  for (const JsonValue& item : rank_list->items) {
    if (!item.Is(Type::kNumber)) return WrongType("rank_list", "a list of numbers");
    if (rank.has_value() && item.number == static_cast<double>(*rank)) listed = true;
  }
  return listed;
}

Result<std::string> ConfinedPath(const std::string& root, const std::string& path) {
  const std::string base = base::AbsolutePath(root);
  std::string full = base::AbsolutePath(base::JoinPath(base, path));
  const std::string prefix = base == "/" ? base : base + "/";
  if (full != base && full.compare(0, prefix.size(), prefix) != 0) {
    return base::PermissionDeniedError("directory must be inside " + base);
  }
  return full;
}

}  // namespace sonde::record

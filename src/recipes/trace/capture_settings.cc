#include "recipes/trace/capture_settings.h"

#include <algorithm>

#include "base/host/json.h"

namespace sonde::recipes {
namespace {

using base::JsonDocument;
using base::JsonValue;

// A null document where the key is absent or its text is no JSON.
JsonDocument Metadata(const TraceData& data, std::string_view key) {
  const auto found = data.metadata.find(key);
  if (found != data.metadata.end()) {
    if (auto document = JsonDocument::Parse(found->second, key); document.ok()) return *document;
  }
  return JsonDocument::Parse("null", key).value();
}

bool BoolOr(const JsonValue& value, bool fallback) { return value.AsBool().value_or(fallback); }

int64_t MetadataInt(const TraceData& data, std::string_view key) {
  return Metadata(data, key).root().AsInt().value_or(-1);
}

std::string TextOf(const JsonValue& value) { return value.AsString().value_or(std::string()); }

ProfilerLevel LevelOf(std::string_view text) {
  if (text == "Level_none") return ProfilerLevel::kNone;
  if (text == "Level0") return ProfilerLevel::kLevel0;
  if (text == "Level2") return ProfilerLevel::kLevel2;
  return ProfilerLevel::kLevel1;
}

// A list, or a single text in older captures.
std::vector<std::string> TextsOf(const JsonValue& value) {
  std::vector<std::string> texts;
  if (value.IsString()) texts.push_back(TextOf(value));
  for (const JsonValue& element : value.Elements()) texts.push_back(TextOf(element));
  return texts;
}

// Traces of torch's profiler have it in an object.
int64_t WorldOf(const TraceData& data) {
  const int64_t own = MetadataInt(data, "world_size");
  const JsonDocument info = Metadata(data, "distributedInfo");
  return own > 0 ? own : info.root().GetInt("world_size", -1).value_or(-1);
}

}  // namespace

CaptureSettings CaptureSettings::FromTrace(const TraceData& data) {
  CaptureSettings settings;
  const JsonDocument config = Metadata(data, "profiler_config");
  const JsonValue common = config.root()["common_config"];
  const JsonValue experimental = config.root()["experimental_config"];
  // A program without a config may have been asked for a level when recording began.
  const JsonDocument asked = Metadata(data, "options");
  const JsonValue levels =
      config.root().IsObject() ? experimental : asked.root()["experimental_config"];
  settings.level = LevelOf(TextOf(levels["_profiler_level"]));
  settings.export_types = TextsOf(experimental["_export_type"]);
  settings.data_simplification = BoolOr(experimental["_data_simplification"], false);
  settings.record_shapes = BoolOr(common["record_shapes"], true);
  settings.profile_memory = BoolOr(common["profile_memory"], true);
  settings.with_stack = BoolOr(common["with_stack"], true);
  settings.with_modules = BoolOr(common["with_modules"], true);
  if (const JsonValue activities = common["activities"]; activities.IsArray()) {
    const std::vector<std::string> names = TextsOf(activities);
    settings.cpu_activity =
        std::find(names.begin(), names.end(), "ProfilerActivity.CPU") != names.end();
  }
  settings.rank = data.rank;
  if (const int64_t rank = MetadataInt(data, "rank"); rank >= 0) settings.rank = rank;
  settings.world_size = WorldOf(data);
  settings.local_rank = MetadataInt(data, "local_rank");
  settings.local_world_size = MetadataInt(data, "local_world_size");
  settings.rank_from_environment = TextOf(Metadata(data, "rank_source").root()) == "RANK";
  settings.is_worker = TextOf(Metadata(data, "role").root()) == "worker";
  return settings;
}

}  // namespace sonde::recipes

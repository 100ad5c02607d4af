#include "importers/ascend_raw/dictionary.h"

#include <string>

#include "base/strings.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

// Calls take(key, text) for each line; those without a key are counted.
template <class Take>
void ForEachLine(std::string_view text, std::string_view file, store::ImportIssues& issues,
                 Take&& take) {
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !take(line.substr(0, colon), line.substr(colon + 1))) {
      issues.Add(kBadRecord, file);
    }
  }
}

}  // namespace

void Dictionary::AddHashes(std::string_view text, std::string_view file) {
  ForEachLine(text, file, rows_.issues, [&](std::string_view key, std::string_view value) {
    const auto hash = base::ParseUint64(key);
    if (!hash) return false;
    const int32_t name = rows_.names.Intern(value);
    const auto [known, is_new] = texts_.try_emplace(*hash, name);
    if (!is_new && known->second != name) rows_.issues.Add(kHashCollision, file);
    known->second = name;
    return true;
  });
}

void Dictionary::AddTypes(std::string_view text, std::string_view file) {
  ForEachLine(text, file, rows_.issues, [&](std::string_view key, std::string_view value) {
    const std::vector<std::string_view> parts = base::Split(key, '_');
    if (parts.size() != 2) return false;
    const auto level = base::ParseUint64(parts[0]);
    const auto type = base::ParseUint64(parts[1]);
    if (!level || !type || *level > UINT16_MAX || *type > UINT32_MAX) return false;
    const std::pair number(static_cast<uint16_t>(*level), static_cast<uint32_t>(*type));
    types_[number] = rows_.names.Intern(value);
    return true;
  });
}

int32_t Dictionary::Text(uint64_t hash) {
  if (hash == 0) return store::kNone;
  const auto known = texts_.find(hash);
  if (known != texts_.end()) return known->second;
  rows_.issues.Add(kUnknownHash, "hash_dic");
  return texts_[hash] = rows_.names.Intern(std::to_string(hash));
}

int32_t Dictionary::Type(uint16_t level, uint32_t type) {
  const auto known = types_.find({level, type});
  if (known != types_.end()) return known->second;
  constexpr uint32_t kEnable = 27;
  constexpr uint32_t kDisable = 28;
  std::string text = std::to_string(type);
  if (type == kEnable) text = "DYNAMIC_ENABLE";
  if (type == kDisable) text = "DYNAMIC_DISABLE";
  if (type != kEnable && type != kDisable) rows_.issues.Add(kUnknownHash, "type_info_dic");
  return types_[{level, type}] = rows_.names.Intern(text);
}

uint64_t Dictionary::HashOf(std::string_view text) {
  uint32_t high = 0;
  uint32_t low = 0;
  for (const char c : text) {
    const auto value = static_cast<uint32_t>(static_cast<int32_t>(c));
    high = high * 29 + value;
    low = low * 131 + value;
  }
  return text.empty() ? UINT64_MAX : static_cast<uint64_t>(high) << 32U | low;
}

}  // namespace sonde::importers::raw

#include "importers/ascend/machine.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::importers::ascend {
namespace {

using base::JoinPath;

constexpr auto kChips = std::to_array<std::pair<int64_t, std::string_view>>({{0, "Ascend310"},
                                                                             {1, "Ascend910A"},
                                                                             {4, "Ascend310P"},
                                                                             {5, "Ascend910B"},
                                                                             {7, "Ascend310B"},
                                                                             {15, "Ascend950"}});

bool HasFact(const TraceRows& rows, std::string_view key) {
  return std::ranges::any_of(rows.metadata, [&](const auto& fact) { return fact.key == key; });
}

// Microseconds since 1970, as text or number.
std::optional<int64_t> MomentOf(const std::string& path, std::string_view key) {
  const auto document = base::JsonDocument::ReadFile(path);
  if (!document.ok()) return std::nullopt;
  const base::JsonValue value = document->root()[key];
  const auto text = value.AsString();
  const auto us = text.ok() ? base::ParseInt64(base::Trim(*text)) : base::ParseInt64(value.Dump());
  constexpr int64_t kNsPerUs = 1000;
  int64_t ns = 0;
  if (!us || *us <= 0 || __builtin_mul_overflow(*us, kNsPerUs, &ns)) return std::nullopt;
  return ns;
}

}  // namespace

bool IsMachineFact(std::string_view key) {
  return key == kHostUid || key == kHostName || key == kSessionBegin || key == kSessionEnd ||
         key.starts_with(kNpuName);
}

std::string_view ChipName(int64_t chip) {
  const auto* const found =
      std::ranges::find(kChips, chip, &std::pair<int64_t, std::string_view>::first);
  return found == kChips.end() ? std::string_view() : found->second;
}

void AddMachineOfProf(const std::string& prof_folder, TraceRows& rows) {
  const std::string host = JoinPath(prof_folder, "host");
  if (const auto info = base::JsonDocument::ReadFile(JoinPath(host, "info.json")); info.ok()) {
    const std::string uid = info->root().GetString("hostUid", "").value_or("");
    const std::string name = info->root().GetString("hostname", "").value_or("");
    const bool is_known = !uid.empty() && uid != "0";
    if (is_known && !HasFact(rows, kHostUid)) rows.AddText(kHostUid, uid);
    if (!name.empty() && !HasFact(rows, kHostName)) rows.AddText(kHostName, name);
  }
  const auto begin = MomentOf(JoinPath(host, "start_info"), "collectionTimeBegin");
  const auto end = MomentOf(JoinPath(host, "end_info"), "collectionTimeEnd");
  if (begin && !HasFact(rows, kSessionBegin)) {
    rows.AddJson(kSessionBegin, std::to_string(*begin));
  }
  if (end && !HasFact(rows, kSessionEnd)) rows.AddJson(kSessionEnd, std::to_string(*end));
}

void AddChip(int32_t device, int64_t chip, TraceRows& rows) {
  const std::string key = base::Concat(kNpuName, std::to_string(device));
  const std::string_view name = ChipName(chip);
  if (!name.empty() && !HasFact(rows, key)) rows.AddText(key, name);
}

std::string HostNameOf(const std::string& span_folder) {
  const auto metadata =
      base::JsonDocument::ReadFile(JoinPath(span_folder, "profiler_metadata.json"));
  return metadata.ok() ? metadata->root().GetString(kHostName, "").value_or("") : std::string();
}

void NameHostOfMetadata(TraceRows& rows) {
  const auto fact = std::ranges::find(rows.metadata, kHostName, &TextFact::key);
  if (fact == rows.metadata.end()) return;
  const auto document = base::JsonDocument::Parse(fact->json, kHostName);
  const std::string name = document.ok() ? document->root().AsString().value_or("") : std::string();
  if (name.empty()) return;
  const int32_t host = rows.names.Intern(name);
  for (store::ProcessRow& process : rows.processes) {
    if (process.host == store::kNone) process.host = host;
  }
}

}  // namespace sonde::importers::ascend

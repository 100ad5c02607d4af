#include "importers/ascend/world.h"

#include <algorithm>

#include "base/files.h"
#include "base/host/json.h"
#include "base/host/sqlite_reader.h"
#include "importers/ascend/span.h"

namespace sonde::importers {
namespace {

using base::JsonValue;

int32_t Sane(int64_t ranks) {
  constexpr int64_t kMost = int64_t{1} << 20U;
  return ranks > 0 && ranks <= kMost ? static_cast<int32_t>(ranks) : 0;
}

int32_t OfSizes(const JsonValue& sizes) {
  return Sane(sizes.IsObject() ? sizes.GetInt("world_size", 0).value_or(0) : 0);
}

// One more than the largest rank of any group.
int32_t OfGroups(const JsonValue& groups) {
  int64_t ranks = 0;
  if (!groups.IsObject()) return 0;
  for (const auto& [name, group] : groups.Members()) {
    if (!group.IsObject() || !group["global_ranks"].IsArray()) continue;
    for (const JsonValue& rank : group["global_ranks"].Elements()) {
      ranks = std::max(ranks, rank.AsInt().value_or(-1) + 1);
    }
  }
  return Sane(ranks);
}

int32_t OfFiles(const AscendSpan& span) {
  for (const SpanFile& file : span.metadata) {
    if (base::BaseName(file.path) != "profiler_metadata.json") continue;
    const auto document = base::JsonDocument::ReadFile(file.path);
    if (!document.ok() || !document->root().IsObject()) continue;
    const int32_t ranks = OfSizes(document->root()["distributed_args"]);
    return ranks > 0 ? ranks : OfGroups(document->root()["parallel_group_info"]);
  }
  return 0;
}

int32_t OfDatabase(const SpanFile& file) {
  const auto reader = base::SqliteReader::Open(file.path);
  if (!reader.ok()) return 0;  // which the import reports
  int32_t of_sizes = 0;
  int32_t of_groups = 0;
  reader
      ->Read("META_DATA", {"name", "value"},
             [&](const base::SqliteRow& row) {
               const bool is_sizes = row.Text(0) == "distributed_args";
               if (!is_sizes && row.Text(0) != "parallel_group_info") return;
               const auto json = base::JsonDocument::Parse(row.Text(1), "META_DATA");
               if (!json.ok()) return;
               (is_sizes ? of_sizes : of_groups) =
                   is_sizes ? OfSizes(json->root()) : OfGroups(json->root());
             })
      .IgnoreError();
  return of_sizes > 0 ? of_sizes : of_groups;
}

}  // namespace

int32_t AscendWorld(const std::string& path) {
  const AscendSpan span = FindSpan(path);
  const int32_t ranks = OfFiles(span);
  if (ranks > 0 || span.databases.empty()) return ranks;
  return OfDatabase(span.databases.front());
}

}  // namespace sonde::importers

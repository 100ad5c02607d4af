#include "exporters/ascend_db/string_ids.h"

#include <algorithm>
#include <utility>

namespace sonde::exporters {
namespace {

constexpr int kRangeBits = 28;
constexpr int64_t kUnknown = -1;

int64_t FirstOf(size_t range) { return static_cast<int64_t>(range) << kRangeBits; }

}  // namespace

int64_t StringIds::Id(StringRange range, std::string_view text) {
  Range& r = ranges_[static_cast<size_t>(range)];
  if (const auto found = r.ids.find(text); found != r.ids.end()) return found->second;
  const int64_t id = FirstOf(static_cast<size_t>(range)) + static_cast<int64_t>(r.ids.size());
  r.ids.emplace(text, id);
  return id;
}

int64_t StringIds::NameId(StringRange range, int32_t name, std::string_view text) {
  if (name < 0) return Id(range, text);
  std::vector<int64_t>& by_name = ranges_[static_cast<size_t>(range)].by_name;
  const auto index = static_cast<size_t>(name);
  if (index >= by_name.size()) by_name.resize(index + 1, kUnknown);
  if (by_name[index] == kUnknown) by_name[index] = Id(range, text);
  return by_name[index];
}

Status StringIds::Write(report::SqliteFile& file) const {
  SONDE_ASSIGN_OR_RETURN(
      report::SqliteTable table,
      report::SqliteTable::Create(file, "STRING_IDS", "id INTEGER PRIMARY KEY,value TEXT"));
  for (const Range& range : ranges_) {
    std::vector<std::pair<int64_t, std::string_view>> rows;
    rows.reserve(range.ids.size());
    for (const auto& [text, id] : range.ids) rows.emplace_back(id, text);
    std::ranges::sort(rows);
    for (const auto& [id, text] : rows) table.Int(id).Text(text).End();
  }
  return table.Close();
}

}  // namespace sonde::exporters

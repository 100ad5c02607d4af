#include <algorithm>
#include <string>
#include <utility>

#include "base/strings.h"
#include "exporters/format/result_sinks.h"
#include "exporters/serving/serving.h"

namespace sonde::exporters {
namespace {

using base::Concat;
using store::ColumnType;

// Columns of a table of the store as cells: durations in ms, moments in ms since `begin_ns`, texts
// and numbers; what is unknown stays empty.
class RowSheet {
 public:
  RowSheet(const store::RowTables& tables, std::string name, int64_t begin_ns)
      : tables_(tables), begin_ns_(begin_ns) {
    sheet_.name = std::move(name);
    sheet_.rows.emplace_back();
  }

  void BeginRow() { sheet_.rows.emplace_back(); }

  template <ColumnType type, class Value>
  void Cell(std::string_view name, const Value& value) {
    if (sheet_.rows.size() == 2) sheet_.rows[0].push_back(Title(name));
    sheet_.rows.back().push_back(Text<type>(name, value));
  }

  Sheet Take() { return std::move(sheet_); }

 private:
  template <ColumnType type, class Value>
  std::string Text(std::string_view name, const Value& value) const {
    if constexpr (type == ColumnType::kName) {
      return value < 0
                 ? std::string()
                 : std::string(tables_.Rows<store::NameRow>()[static_cast<size_t>(value)].name);
    } else if constexpr (type == ColumnType::kDouble) {
      return NumberCell(value);
    } else {
      const bool can_lack = type == ColumnType::kOpt || type == ColumnType::kRef || name == "dur";
      if (can_lack && value < 0) return {};
      const auto number = static_cast<int64_t>(value);
      if (IsMoment(name)) return NumberCell(static_cast<double>(number - begin_ns_) / 1e6);
      if (IsDuration(name)) return NumberCell(static_cast<double>(number) / 1e6);
      return std::to_string(number);
    }
  }
  static bool IsMoment(std::string_view name) { return name == "ts" || name.ends_with("_ts"); }
  static bool IsDuration(std::string_view name) { return name == "dur" || name.ends_with("_ns"); }
  static std::string Title(std::string_view name) {
    if (name.ends_with("_ns")) return Concat(name.substr(0, name.size() - 3), " (ms)");
    return IsMoment(name) || IsDuration(name) ? Concat(name, " (ms)") : std::string(name);
  }

  const store::RowTables& tables_;
  int64_t begin_ns_;
  Sheet sheet_;
};

#define SONDE_SHEET_CELL(column, type, unit, meaning, source) \
  sheet.Cell<ColumnType::k##type>(#column, row.column);

Sheet Requests(const store::RowTables& tables, int64_t begin_ns) {
  RowSheet sheet(tables, "requests", begin_ns);
  for (const store::RequestRow& row : tables.Rows<store::RequestRow>()) {
    sheet.BeginRow();
    SONDE_COLUMNS_REQUEST(SONDE_SHEET_CELL)
  }
  return sheet.Take();
}

Sheet Steps(const store::RowTables& tables, int64_t begin_ns) {
  constexpr size_t kMaxRows = 1'000'000;  // of a sheet
  RowSheet sheet(tables, "engine steps", begin_ns);
  const auto rows = tables.Rows<store::EngineStepRow>();
  for (const store::EngineStepRow& row : rows.first(std::min(rows.size(), kMaxRows))) {
    sheet.BeginRow();
    SONDE_COLUMNS_ENGINE_STEP(SONDE_SHEET_CELL)
  }
  return sheet.Take();
}

#undef SONDE_SHEET_CELL

Sheet Summary(const recipes::ServingSummary& summary) {
  SheetSink sheet("summary", recipes::kServingSummary);
  recipes::WriteServing(summary, sheet);
  return sheet.Take();
}

}  // namespace

std::vector<Sheet> ServingSheets(const recipes::ServingSummary& summary,
                                 const store::RowTables& tables) {
  int64_t begin_ns = INT64_MAX;
  for (const auto& row : tables.Rows<store::RequestRow>()) begin_ns = std::min(begin_ns, row.ts);
  for (const auto& row : tables.Rows<store::EngineStepRow>()) {
    begin_ns = std::min(begin_ns, row.ts);
  }
  return {Summary(summary), Requests(tables, begin_ns), Steps(tables, begin_ns)};
}

}  // namespace sonde::exporters

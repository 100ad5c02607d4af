#include "cluster/frame/table.h"

#include "base/strings.h"

namespace sonde::cluster {
namespace {

void WriteCell(const Cell& cell, store::ResultType type, store::RowSink& rows) {
  const bool is_text = type == store::ResultType::kText || type == store::ResultType::kOptText;
  if (const auto* number = std::get_if<int64_t>(&cell)) {
    rows.Int(*number);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    rows.Double(*real);
  } else if (const auto* text = std::get_if<std::string>(&cell); text != nullptr && is_text) {
    rows.Text(*text);
  } else {
    rows.Null();
  }
}

}  // namespace

TextColumn TextHeading(const ColumnNames& names) {
  constexpr double kNsPerUs = 1e3;
  constexpr double kNsPerMs = 1e6;
  const bool in_ms = names.db.ends_with("Ns") && names.text.ends_with("(Ms)");
  if (!names.text.empty()) return {std::string(names.text), in_ms ? kNsPerMs : 1};
  if (!names.db.ends_with("Ns")) return {std::string(names.db)};
  return {base::ReplaceAll(names.db, "Ns", "(Us)"), kNsPerUs};
}

void WriteRows(const Table& table, store::RowSink& rows) {
  const auto columns = table.info().result.columns;
  for (size_t row = 0; row < table.rows() && rows.wants_more(); ++row) {
    for (size_t column = 0; column < columns.size(); ++column) {
      WriteCell(table.At(row, column), columns[column].type, rows);
    }
    rows.EndRow();
  }
}

}  // namespace sonde::cluster

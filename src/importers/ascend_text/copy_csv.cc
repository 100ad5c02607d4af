#include "importers/ascend_text/copy_csv.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "importers/ascend_text/csv_reader.h"
#include "importers/ascend_text/issues.h"
#include "store/name_pool.h"

namespace sonde::importers {
namespace {

std::string FormJson(const CsvFacts& facts) {
  base::JsonWriter json(nullptr);
  json.BeginObject();
  json.Key("header");
  json.BeginArray();
  for (const std::string& name : facts.header) json.String(store::ToValidUtf8(name));
  json.EndArray();
  json.Key("line_end");
  json.String(facts.line_end);
  json.Key("ends_with_line_end");
  json.Bool(facts.ends_with_line_end);
  json.Key("byte_order_mark");
  json.Bool(facts.has_byte_order_mark);
  json.EndObject();
  return json.Take();
}

// Under the name of the first.
void CountRepeated(const std::vector<std::string>& header, std::string_view file,
                   store::ImportIssues& issues) {
  std::set<std::string_view> names;
  std::string_view first;
  int64_t repeated = 0;
  for (const std::string& name : header) {
    if (name.empty() || names.insert(name).second) continue;
    if (repeated++ == 0) first = name;
  }
  if (repeated == 0) return;
  issues.Add(kCsvRepeatedColumn, store::ToValidUtf8(base::Concat(file, ": ", first)), -1, repeated);
}

void CountForm(const CsvFacts& facts, std::string_view file, store::ImportIssues& issues) {
  if (facts.is_cut_off) issues.Add(kCsvCutOff, file);
  if (facts.ragged_rows > 0) issues.Add(kCsvRagged, file, -1, facts.ragged_rows);
  if (facts.empty_lines > 0) issues.Add(kCsvEmptyLines, file, -1, facts.empty_lines);
  if (!facts.ends_with_line_end) issues.Add(kCsvNoLineEnd, file);
  const int64_t form = facts.mixed_line_ends + facts.unusual_quotes;
  if (form > 0) issues.Add(kCsvForm, file, -1, form);
}

// False where there is no table in it.
bool CountAll(const CsvFacts& facts, std::string_view file, store::ImportIssues& issues) {
  if (facts.header.empty()) {
    issues.Add(kCsvEmpty, file);
    return false;
  }
  CountForm(facts, file, issues);
  CountRepeated(facts.header, file, issues);
  return true;
}

}  // namespace

void CheckCsv(const SpanFile& file, std::string_view text, store::ImportIssues& issues) {
  CountAll(ReadCsv(text, [](const CsvRow&, int64_t) {}), file.relative, issues);
}

Status CopyCsv(const SpanFile& file, std::string_view text, store::SourceNames& names,
               store::ImportIssues& issues, store::Transaction& transaction) {
  // The form is known at the end of the file and is written with the table's columns: two passes.
  const CsvFacts facts = ReadCsv(text, [](const CsvRow&, int64_t) {});
  if (!CountAll(facts, file.relative, issues)) return {};
  if (transaction.rows() != nullptr) return {};  // rows alone are not exported as a file
  std::string_view name = base::BaseName(file.path);
  name.remove_suffix(4);  // ".csv"
  store::SourceTable table{.file = file.relative,
                           .name = std::string(name),
                           .stored = {},
                           .definition = FormJson(facts),
                           .columns = {}};
  for (const std::string& column : facts.header) {
    // A byte of 0 would end the name in the database.
    table.columns.push_back(
        {base::ReplaceAll(store::ToValidUtf8(column), std::string_view("\0", 1), "\uFFFD"),
         store::CellType::kText});
  }
  const size_t columns = table.columns.size();
  SONDE_ASSIGN_OR_RETURN(auto writer,
                         store::SourceTableWriter::Create(transaction, names, std::move(table)));
  ReadCsv(text, [&](const CsvRow& row, int64_t position) {
    for (size_t i = 0; i < columns; ++i) {
      if (i >= row.size()) {
        writer.Null();
      } else if (store::IsValidUtf8(row[i])) {
        writer.Text(row[i]);
      } else {
        issues.Add(kTextGarbled, file.relative, position);
        writer.Text(store::ToValidUtf8(row[i]));
      }
    }
    writer.EndRow();
  });
  return writer.Close();
}

}  // namespace sonde::importers

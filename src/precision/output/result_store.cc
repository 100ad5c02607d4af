#include "precision/output/result_store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "base/host/sql_name.h"
#include "base/strings.h"
#include "precision/output/advice.h"

namespace sonde::precision {
namespace {

using base::Concat;
using store::CellType;

constexpr std::array<std::string_view, 21> kNumberColumns = {
    "Max diff",        "Min diff",        "Mean diff",
    "L2norm diff",     "MaxRelativeErr",  "MinRelativeErr",
    "MeanRelativeErr", "NormRelativeErr", "Cosine",
    "EucDist",         "MaxAbsErr",       "One Thousandth Err Ratio",
    "NPU max",         "NPU min",         "NPU mean",
    "NPU l2norm",      "Bench max",       "Bench min",
    "Bench mean",      "Bench l2norm",    "Five Thousandths Err Ratio"};

bool IsNumberColumn(std::string_view name) {
  return std::find(kNumberColumns.begin(), kNumberColumns.end(), name) != kNumberColumns.end();
}

std::string_view ViewOf(Mode mode) {
  static constexpr std::string_view kViews[] = {"precision_statistics", "precision_tensor",
                                                "precision_md5"};
  return kViews[static_cast<size_t>(mode)];
}

// Names and values of dumps may hold any bytes; the database takes UTF-8.
std::string ValidText(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const size_t length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    bool good = byte < 0x80 || (byte >= 0xC2 && byte <= 0xF4);
    good = good && i + length <= text.size();
    for (size_t k = 1; good && k < length; ++k) {
      good = (static_cast<uint8_t>(text[i + k]) & 0xC0U) == 0x80U;
    }
    if (good) {
      out.append(text.substr(i, length));
      i += length;
    } else {
      out.append("\xEF\xBF\xBD");
      ++i;
    }
  }
  return out;
}

// The database's message, without its prefix for the kind of error ("Catalog Error: ").
std::string_view WithoutKind(std::string_view message) {
  constexpr std::string_view kMark = " Error: ";
  const size_t at = message.find(kMark);
  const bool is_word =
      at != std::string_view::npos && message.substr(0, at).find(' ') == std::string_view::npos;
  return is_word ? message.substr(at + kMark.size()) : message;
}

void WriteNumber(double value, store::SourceTableWriter* writer) {
  if (value < 0) {
    writer->Null();
  } else {
    writer->Real(value);
  }
}

// NULL where it is empty.
void WriteText(std::string_view text, store::SourceTableWriter* writer) {
  if (text.empty()) {
    writer->Null();
  } else {
    writer->Text(ValidText(text));
  }
}

void WriteCause(const std::vector<RowCause>& causes, uint32_t row,
                store::SourceTableWriter* writer) {
  const bool known = row < causes.size();
  if (known) {
    writer->Text(causes[row].cause);
  } else {
    writer->Null();
  }
  WriteNumber(known ? causes[row].explained : -1, writer);
  WriteNumber(known ? causes[row].ratio : -1, writer);
}

// What the rows of one call share; empty: unknown.
struct CallFacts {
  std::string_view api;
  std::string module;
  std::string source;
};

void WriteRow(const ResultTable& table, uint32_t row, const CallFacts& call,
              const std::vector<RowCause>& causes, const RowOrigin& origin,
              store::SourceTableWriter* writer) {
  report::RowText cells;
  table.Fill(row, &cells);
  writer->Int(origin.step);
  writer->Int(origin.rank);
  writer->Int(row);
  WriteText(call.api, writer);
  WriteText(call.module, writer);
  WriteText(call.source, writer);
  for (size_t c = 0; c < cells.size(); ++c) writer->Text(ValidText(cells.cell(c)));
  WriteCause(causes, row, writer);
  writer->EndRow();
}

Status WriteRows(const ResultTable& table, const std::vector<RowCause>& causes,
                 const RowOrigin& origin, store::SourceTableWriter* writer) {
  const Comparison& comparison = table.comparison();
  for (const ComparedGroup& group : comparison.groups) {
    CallFacts call{.api = group.api, .module = {}, .source = {}};
    if (origin.construct != nullptr) call.module = origin.construct->ModuleOf(group.api);
    if (origin.stack != nullptr) call.source = SourceOf(*origin.stack, group.api);
    for (uint32_t r = group.first_row; r < group.first_row + group.row_count; ++r) {
      WriteRow(table, r, call, causes, origin, writer);
    }
  }
  // Calls of the golden run are in no file of the target.
  for (uint32_t r = comparison.golden_only_begin; r < comparison.rows.size(); ++r) {
    WriteRow(table, r, {}, causes, origin, writer);
  }
  return writer->Close();
}

void WriteFinding(const PairFinding& pair, bool is_first, const Conclusion& conclusion,
                  store::SourceTableWriter* writer) {
  const FirstCause& cause = pair.cause;
  writer->Int(pair.step);
  writer->Int(pair.rank);
  writer->Int(is_first ? 1 : 0);
  writer->Text(CauseText(cause.kind));
  WriteText(cause.place, writer);
  if (pair.row < 0) {
    writer->Null();
  } else {
    writer->Int(pair.row);
  }
  WriteText(cause.module, writer);
  WriteText(pair.source, writer);
  WriteText(pair.detail, writer);
  WriteText(base::Join(cause.evidence, "\n"), writer);
  WriteText(AdviceOf(cause.kind), writer);
  writer->Text(ValidText(is_first || !conclusion.differs ? conclusion.line : ""));
  writer->EndRow();
}

void WriteNodes(const VisGraph& graph, store::SourceTableWriter* writer) {
  const std::vector<int32_t>& order = graph.graph->post_order();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<size_t>(order[i]);
    const GraphNode& node = graph.graph->node(order[i]);
    writer->Int(graph.step);
    writer->Int(graph.rank);
    writer->Int(static_cast<int64_t>(i));
    writer->Int(static_cast<int64_t>(node.type));
    writer->Int(node.micro_step);
    const Precision precision =
        graph.results == nullptr ? Precision::kNone : graph.results->precision[at];
    if (precision == Precision::kNone) {
      writer->Null();
    } else {
      writer->Real(precision == Precision::kPass ? 0 : precision == Precision::kWarning ? 0.5 : 1);
    }
    writer->Text(ValidText(graph.source));
    writer->Text(ValidText(node.name));
    WriteText(node.parent == kNoNode ? "" : graph.graph->node(node.parent).name, writer);
    WriteText(graph.overflow == nullptr ? "" : OverflowText((*graph.overflow)[at]), writer);
    const int32_t partner = graph.matches == nullptr ? kNoNode : (*graph.matches)[at];
    WriteText(partner == kNoNode ? "" : graph.partner->node(partner).name, writer);
    writer->EndRow();
  }
}

}  // namespace

std::string SnakeCase(std::string_view header) {
  std::string out;
  for (size_t i = 0; i < header.size(); ++i) {
    const auto c = static_cast<unsigned char>(header[i]);
    if (c == ' ') {
      out += '_';
      continue;
    }
    if (std::isupper(c) != 0 && i > 0 && std::islower(static_cast<unsigned char>(header[i - 1]))) {
      out += '_';
    }
    out += static_cast<char>(std::tolower(c));
  }
  return out;
}

Result<SqlMetric> ParseSqlMetric(std::string_view text) {
  const size_t equals = text.find('=');
  SqlMetric out;
  if (equals != std::string_view::npos) {
    out.name = base::Trim(text.substr(0, equals));
    out.expression = base::Trim(text.substr(equals + 1));
  }
  if (!out.name.empty() && !out.expression.empty()) return out;
  return base::InvalidArgumentError(
      Concat("'", text, "' is no metric; write name=expression, such as 'gap=abs(max_diff)'"));
}

Result<std::unique_ptr<ResultStore>> ResultStore::Create(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(std::unique_ptr<store::Store> made, store::Store::Create(path));
  return std::unique_ptr<ResultStore>(new ResultStore(std::move(made)));
}

Status ResultStore::Add(const ResultTable& table, const RowOrigin& origin,
                        const std::vector<RowCause>& causes) {
  const std::string_view view = ViewOf(table.comparison().mode);
  store::SourceTable description;
  description.file =
      Concat("step", std::to_string(origin.step), "/rank", std::to_string(origin.rank));
  description.name = Concat(view, "_cells_", std::to_string(parts_.size()));
  description.columns = {{"step", CellType::kInteger}, {"rank", CellType::kInteger},
                         {"row", CellType::kInteger},  {"api", CellType::kText},
                         {"module", CellType::kText},  {"source", CellType::kText}};
  std::string select = R"(SELECT "step", "rank", "row", "api", "module", "source")";
  for (const std::string& name : table.columns()) {
    description.columns.push_back({name, CellType::kText});
    const std::string column = base::SqlName(name);
    select += IsNumberColumn(name) ? Concat(", TRY_CAST(rtrim(trim(", column,
                                            "), '%') AS DOUBLE) AS ", SnakeCase(name))
                                   : Concat(", ", column, " AS ", base::SqlName(SnakeCase(name)));
    if (name == "NPU max" || name == "Bench max") {
      select += Concat(", ", column, " AS ", SnakeCase(name), "_text");
    }
  }
  description.columns.push_back({"cause", CellType::kText});
  description.columns.push_back({"explained", CellType::kReal});
  description.columns.push_back({"ratio", CellType::kReal});
  select += ", \"cause\", \"explained\", \"ratio\"";
  select += Concat(" FROM source.", base::SqlName(description.name));  // names are never taken
  SONDE_ASSIGN_OR_RETURN(store::Transaction transaction, store_->Begin());
  SONDE_ASSIGN_OR_RETURN(
      store::SourceTableWriter writer,
      store::SourceTableWriter::Create(transaction, names_, std::move(description)));
  SONDE_RETURN_IF_ERROR(WriteRows(table, causes, origin, &writer));
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  parts_.push_back({std::string(view), std::move(select)});
  return Status::Ok();
}

Result<std::vector<std::string>> ResultStore::Evaluate(const SqlMetric& metric) const {
  auto result = store_->Query(Concat("SELECT CAST((", metric.expression, ") AS VARCHAR) FROM (",
                                     parts_.back().select, ") ORDER BY \"row\""));
  if (!result.ok()) {
    return base::InvalidArgumentError(Concat("metric ", metric.name, ", '", metric.expression,
                                             "': ", WithoutKind(result.status().message())));
  }
  std::vector<std::string> out(result->rows());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = result->IsNull(0, i) ? "N/A" : result->Text(0, i);
  }
  return out;
}

Status ResultStore::AddFindings(const std::vector<PairFinding>& pairs,
                                const Conclusion& conclusion) {
  store::SourceTable description;
  description.file = "findings";
  description.name = "precision_finding_cells";
  description.columns = {
      {"step", CellType::kInteger},  {"rank", CellType::kInteger}, {"first", CellType::kInteger},
      {"cause", CellType::kText},    {"place", CellType::kText},   {"row", CellType::kInteger},
      {"module", CellType::kText},   {"source", CellType::kText},  {"detail", CellType::kText},
      {"evidence", CellType::kText}, {"advice", CellType::kText},  {"sentence", CellType::kText}};
  SONDE_ASSIGN_OR_RETURN(store::Transaction transaction, store_->Begin());
  const std::string select = Concat("SELECT * FROM source.", base::SqlName(description.name));
  SONDE_ASSIGN_OR_RETURN(
      store::SourceTableWriter writer,
      store::SourceTableWriter::Create(transaction, names_, std::move(description)));
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i].is_compared) continue;
    WriteFinding(pairs[i], conclusion.differs && i == conclusion.first, conclusion, &writer);
  }
  SONDE_RETURN_IF_ERROR(writer.Close());
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  parts_.push_back({"precision_finding", select});
  return Status::Ok();
}

Status ResultStore::AddGraph(const VisGraph& graph) {
  store::SourceTable description;
  description.file =
      Concat("step", std::to_string(graph.step), "/rank", std::to_string(graph.rank));
  description.name = Concat("precision_node_cells_", std::to_string(parts_.size()));
  for (const char* name : {"step", "rank", "node_order", "node_type", "micro_step"}) {
    description.columns.push_back({name, CellType::kInteger});
  }
  description.columns.push_back({"precision_index", CellType::kReal});
  for (const char* name : {"data_source", "node_name", "up_node", "overflow_level", "matched"}) {
    description.columns.push_back({name, CellType::kText});
  }
  SONDE_ASSIGN_OR_RETURN(store::Transaction transaction, store_->Begin());
  const std::string select = Concat("SELECT * FROM source.", base::SqlName(description.name));
  SONDE_ASSIGN_OR_RETURN(
      store::SourceTableWriter writer,
      store::SourceTableWriter::Create(transaction, names_, std::move(description)));
  WriteNodes(graph, &writer);
  SONDE_RETURN_IF_ERROR(writer.Close());
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  parts_.push_back({"precision_node", select});
  return Status::Ok();
}

Status ResultStore::Publish() {
  std::map<std::string, std::string> views;
  for (const Part& part : parts_) {
    std::string& sql = views[part.view];
    // Ranks of one dump may differ in their columns (with and without stacks).
    sql += Concat(sql.empty() ? "" : " UNION ALL BY NAME ", part.select);
  }
  SONDE_ASSIGN_OR_RETURN(store::Transaction transaction, store_->Begin());
  for (const auto& [name, sql] : views) {
    SONDE_RETURN_IF_ERROR(transaction.Execute(Concat("CREATE VIEW ", name, " AS ", sql)));
  }
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return store_->Publish();
}

}  // namespace sonde::precision

#include "precision/output/result_store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "base/host/sql_name.h"
#include "base/strings.h"

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

struct Origin {
  int64_t step = 0;
  int64_t rank = 0;
};

void WriteNumber(double value, store::SourceTableWriter* writer) {
  if (value < 0) {
    writer->Null();
  } else {
    writer->Real(value);
  }
}

// Rows that only the golden run has are in no walk.
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

Status WriteRows(const ResultTable& table, const ConstructFile* construct,
                 const std::vector<RowCause>& causes, const Origin& origin,
                 store::SourceTableWriter* writer) {
  const Comparison& comparison = table.comparison();
  report::RowText cells;
  for (const ComparedGroup& group : comparison.groups) {
    const std::string module =
        construct == nullptr ? "" : std::string(construct->ModuleOf(group.api));
    for (uint32_t r = group.first_row; r < group.first_row + group.row_count; ++r) {
      table.Fill(r, &cells);
      writer->Int(origin.step);
      writer->Int(origin.rank);
      writer->Int(r);
      writer->Text(ValidText(group.api));
      if (module.empty()) {
        writer->Null();
      } else {
        writer->Text(ValidText(module));
      }
      for (size_t c = 0; c < cells.size(); ++c) writer->Text(ValidText(cells.cell(c)));
      WriteCause(causes, r, writer);
      writer->EndRow();
    }
  }
  return writer->Close();
}

void WriteNodes(const VisGraph& graph, store::SourceTableWriter* writer) {
  const auto text_or_null = [writer](std::string_view text) {
    if (text.empty()) {
      writer->Null();
    } else {
      writer->Text(ValidText(text));
    }
  };
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
    text_or_null(node.parent == kNoNode ? "" : graph.graph->node(node.parent).name);
    text_or_null(graph.overflow == nullptr ? "" : OverflowText((*graph.overflow)[at]));
    const int32_t partner = graph.matches == nullptr ? kNoNode : (*graph.matches)[at];
    text_or_null(partner == kNoNode ? "" : graph.partner->node(partner).name);
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

Status ResultStore::Add(const ResultTable& table, const ConstructFile* construct,
                        const std::vector<RowCause>& causes, int64_t step, int64_t rank) {
  const std::string_view view = ViewOf(table.comparison().mode);
  store::SourceTable description;
  description.file = Concat("step", std::to_string(step), "/rank", std::to_string(rank));
  description.name = Concat(view, "_cells_", std::to_string(parts_.size()));
  description.columns = {{"step", CellType::kInteger},
                         {"rank", CellType::kInteger},
                         {"row", CellType::kInteger},
                         {"api", CellType::kText},
                         {"module", CellType::kText}};
  std::string select = "SELECT \"step\", \"rank\", \"row\", \"api\", \"module\"";
  for (const std::string& name : table.columns()) {
    description.columns.push_back({name, CellType::kText});
    const std::string column = base::SqlName(name);
    select += IsNumberColumn(name) ? Concat(", TRY_CAST(rtrim(trim(", column,
                                            "), '%') AS DOUBLE) AS ", SnakeCase(name))
                                   : Concat(", ", column, " AS ", base::SqlName(SnakeCase(name)));
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
  SONDE_RETURN_IF_ERROR(WriteRows(table, construct, causes, {step, rank}, &writer));
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

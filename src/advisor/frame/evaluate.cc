#include "advisor/frame/evaluate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "advisor/frame/tables.h"
#include "base/strings.h"

namespace sonde::advisor {
namespace {

using base::Concat;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Value CellOf(const store::ResultTable& table, size_t column, size_t row) {
  if (table.IsNull(column, row)) return {};
  const auto& values = table.columns()[column].values;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&values)) return (*list)[row];
  if (const auto* list = std::get_if<std::vector<double>>(&values)) return (*list)[row];
  return std::get<std::vector<std::string>>(values)[row];
}

void TakeSlices(const store::ResultTable& table, AdviceSheet& sheet) {
  for (size_t i = 0; i < table.columns().size(); ++i) {
    if (table.columns()[i].name != "_slice") continue;
    for (size_t row = 0; row < sheet.rows.size(); ++row) {
      const Value slice = CellOf(table, i, row);
      const auto* number = std::get_if<int64_t>(&slice);
      sheet.slices.push_back(number == nullptr ? -1 : *number);
    }
  }
}

AdviceSheet SheetOf(const store::ResultTable& table) {
  AdviceSheet sheet;
  std::vector<size_t> shown;
  for (size_t i = 0; i < table.columns().size(); ++i) {
    if (table.columns()[i].name.starts_with('_')) continue;
    shown.push_back(i);
    sheet.columns.push_back(table.columns()[i].name);
  }
  for (size_t row = 0; row < table.rows() && !shown.empty(); ++row) {
    auto& cells = sheet.rows.emplace_back();
    for (const size_t column : shown) cells.push_back(CellOf(table, column, row));
  }
  TakeSlices(table, sheet);
  return sheet;
}

Priority PriorityOf(const std::string& name) {
  if (name == "high") return Priority::kHigh;
  if (name == "medium") return Priority::kMedium;
  return name == "low" ? Priority::kLow : Priority::kNone;
}

const Value& ValueOf(const Values& values, std::string_view name) {
  static const Value nothing;
  const auto found = values.find(name);
  return found == values.end() ? nothing : found->second;
}

class Evaluation {
 public:
  Evaluation(const Rule& rule, const Question& question)
      : rule_(rule), question_(question), values_(question.values) {
    for (const RuleLimit& limit : rule.limits) {
      const auto whole = base::ParseInt64(limit.value);
      values_[limit.name] = whole ? Value(*whole) : Value(*base::ParseDouble(limit.value));
    }
    for (const auto& [name, text] : rule.texts) values_[name] = text.In(question.language);
  }

  Result<std::optional<Advice>> Run() {
    SONDE_ASSIGN_OR_RETURN(const bool any, Find());
    if (!any) return std::optional<Advice>();
    const Value& fires = ValueOf(facts_, "fires");
    const bool has_fired =
        facts_.contains("fires") ? IsTrue(fires) : NumberOf(ValueOf(facts_, "occurrences")) > 0;
    if (!has_fired) return std::optional<Advice>();
    for (auto& [name, value] : facts_) values_[name] = value;
    SONDE_RETURN_IF_ERROR(TakeSheets());
    SONDE_RETURN_IF_ERROR(TakeTexts());
    SONDE_RETURN_IF_ERROR(TakeStatement());
    TakeEvidence();
    return std::optional<Advice>(std::move(advice_));
  }

 private:
  // False where it found no row.
  Result<bool> Find() {
    if (!rule_.function.empty()) {
      const auto function = question_.functions.find(rule_.function);
      if (function == question_.functions.end()) {
        return base::InvalidArgumentError(Concat("there is no function '", rule_.function, "'"));
      }
      SONDE_ASSIGN_OR_RETURN(Found found, function->second(rule_));
      facts_ = std::move(found.facts);
      sheets_ = std::move(found.sheets);
      advice_.is_for_files = found.is_for_files;
      advice_.evidence.baseline = found.baseline;
      return true;
    }
    SONDE_ASSIGN_OR_RETURN(rows_, KeepRows());
    if (rows_ == 0 && !rule_.speaks_without_rows) return false;
    SONDE_ASSIGN_OR_RETURN(const store::ResultTable facts, Ask(FactsStatement()));
    if (facts.rows() > 1) return base::InvalidArgumentError("'facts' gives more than one row");
    for (size_t i = 0; i < facts.columns().size() && facts.rows() == 1; ++i) {
      facts_[facts.columns()[i].name] = CellOf(facts, i, 0);
    }
    return true;
  }

  std::string_view FactsStatement() const {
    constexpr std::string_view kCount = "SELECT count(*) AS occurrences FROM found";
    return rule_.facts.empty() ? kCount : std::string_view(rule_.facts);
  }

  // Facts and sheets ask for the same rows, and most of what a statement over a small trace takes
  // is its plan: the rows are made once, next to the store. Where that cannot hold them (two
  // columns of one name, a read-only store) each statement makes them and reports its own errors.
  // Returns their number.
  Result<int64_t> KeepRows() {
    constexpr std::string_view kKept = "memory.main.advisor_found";
    const auto kept = Ask("FROM found", Concat("CREATE OR REPLACE TABLE ", kKept, " AS "));
    if (kept.ok()) kept_ = Concat("FROM ", kKept);
    if (kept.ok() && kept->rows() == 1) return kept->Int(0, 0);
    SONDE_ASSIGN_OR_RETURN(const store::ResultTable count, Ask("SELECT count(*) FROM found"));
    return count.Int(0, 0);
  }

  // `question` with the rows as the table `found` before it.
  Result<store::ResultTable> Ask(std::string_view question, std::string_view before = {}) {
    // Tables that the statement does not read are planned nevertheless.
    const auto names = NamesIn(rule_.with);
    const bool needs_with =
        kept_.empty() || std::any_of(names.begin(), names.end(), [&](std::string_view name) {
          return Mentions(question, name);
        });
    // A shared table may read those before it.
    size_t needed = needs_with ? rule_.uses.size() : 0;
    for (size_t i = needed; i < rule_.uses.size(); ++i) {
      if (Mentions(question, rule_.uses[i])) needed = i + 1;
    }
    std::string sql;
    for (size_t i = 0; i < needed; ++i) {
      const std::string& name = rule_.uses[i];
      const auto table = question_.tables.find(name);
      if (table == question_.tables.end()) {
        return base::InvalidArgumentError(Concat("there is no shared table '", name, "'"));
      }
      sql += Concat(name, " AS (", table->second, "), ");
    }
    if (needs_with && !rule_.with.empty()) sql += Concat(rule_.with, ", ");
    sql += Concat("found AS (", kept_.empty() ? rule_.rows : kept_, ") ", question);
    sql = Concat(before, "WITH ", CopiesFor(question_, sql, rule_.with), sql);
    SONDE_ASSIGN_OR_RETURN(const std::string filled, FillStatement(sql));
    return question_.store->Query(filled);
  }

  Result<std::string> FillStatement(std::string_view sql) const {
    Values values = values_;
    for (auto& [name, value] : values) {
      auto* text = std::get_if<std::string>(&value);
      if (text != nullptr && name != "env") *text = base::ReplaceAll(*text, "'", "''");
    }
    // Where nothing is recorded the list is of one row that is nothing.
    if (!IsTrue(ValueOf(values, "env"))) values["env"] = std::string("(0, NULL, NULL)");
    for (const auto& [name, list] : rule_.lists) values[name] = list;
    return Fill(sql, values);
  }

  // The rows that were found, asked of the trace itself; where the rule speaks because there are
  // none, its facts.
  Status TakeStatement() {
    std::string& statement = advice_.evidence.statement;
    if (!rule_.function.empty()) {
      SONDE_ASSIGN_OR_RETURN(statement, Fill(rule_.statement, values_));
      return {};
    }
    const std::string_view question = rows_ > 0 ? "FROM found" : FactsStatement();
    std::string sql = Concat("found AS (", rule_.rows, ")\n", question);
    if (!rule_.with.empty()) sql = Concat(rule_.with, ",\n", sql);
    for (size_t i = rule_.uses.size(); i-- > 0;) {
      const std::string& name = rule_.uses[i];
      if (!Mentions(sql, name)) continue;
      const auto made = question_.statements.find(name);
      const auto table = question_.tables.find(name);
      if (table == question_.tables.end()) continue;  // reported by Ask
      sql = Concat(name, " AS (\n",
                   made == question_.statements.end() ? table->second : made->second, "),\n", sql);
    }
    SONDE_ASSIGN_OR_RETURN(statement, FillStatement(Concat("WITH ", sql)));
    return {};
  }

  Status TakeSheets() {
    if (rule_.function.empty()) {
      SONDE_ASSIGN_OR_RETURN(const store::ResultTable rows, Ask("SELECT * FROM found"));
      sheets_.push_back(SheetOf(rows));
      for (const MoreRows& more : rule_.more) {
        SONDE_ASSIGN_OR_RETURN(const store::ResultTable others, Ask(more.rows));
        sheets_.push_back(SheetOf(others));
        sheets_.back().name = more.sheet.In(question_.language);
      }
    }
    for (size_t i = 0; i < sheets_.size(); ++i) {
      if (sheets_[i].name.empty()) sheets_[i].name = SheetName();
      (i == 0 ? advice_.sheet : advice_.more_sheets.emplace_back()) = std::move(sheets_[i]);
    }
    return {};
  }

  bool IsOfRank() const { return question_.rank >= 0 && !rule_.rank_title.english.empty(); }

  const std::string& Title() const {
    return (IsOfRank() ? rule_.rank_title : rule_.title).In(question_.language);
  }

  std::string SheetName() const {
    const std::string& own = rule_.sheet.In(question_.language);
    if (!own.empty()) return own;
    const std::string& of_rank = rule_.rank_sheet.In(question_.language);
    if (IsOfRank() && !of_rank.empty()) return of_rank;
    return IsOfRank() ? Concat("Rank ", std::to_string(question_.rank), " ", Title()) : Title();
  }

  Status TakeTexts() {
    advice_.rule = &rule_;
    advice_.rank = question_.rank;
    advice_.path = question_.path;
    advice_.trace = question_.trace;
    const Language language = question_.language;
    const std::string& block = rule_.block.In(language);
    SONDE_ASSIGN_OR_RETURN(advice_.sheet.name, Fill(advice_.sheet.name, values_));
    SONDE_ASSIGN_OR_RETURN(advice_.title, Fill(Title(), values_));
    SONDE_ASSIGN_OR_RETURN(advice_.block,
                           Fill(block.empty() ? rule_.title.In(language) : block, values_));
    SONDE_ASSIGN_OR_RETURN(advice_.description, Fill(rule_.description.In(language), values_));
    SONDE_ASSIGN_OR_RETURN(advice_.evidence.gain_formula, Fill(rule_.gain.In(language), values_));
    for (const Suggestion& suggestion : rule_.suggestions) {
      if (!suggestion.fact.empty() && !IsTrue(ValueOf(values_, suggestion.fact))) continue;
      SONDE_ASSIGN_OR_RETURN(std::string text, Fill(suggestion.text.In(language), values_));
      advice_.suggestions.push_back(std::move(text));
    }
    const std::string computed = TextOf(ValueOf(values_, "priority"));
    advice_.priority = PriorityOf(computed.empty() ? rule_.priority : computed);
    return {};
  }

  void TakeEvidence() {
    const auto number = [&](std::string_view name) {
      const Value& value = ValueOf(facts_, name);
      return std::holds_alternative<std::monostate>(value) ? kUnknown : NumberOf(value);
    };
    Evidence& evidence = advice_.evidence;
    const double occurrences = number("occurrences");
    evidence.occurrences = occurrences >= 0 ? static_cast<int64_t>(occurrences)
                                            : static_cast<int64_t>(advice_.sheet.rows.size());
    evidence.total_us = number("total_us");
    evidence.gain_us = number("gain_us");
    const Value& place = ValueOf(facts_, "place_slice");
    if (const auto* slice = std::get_if<int64_t>(&place)) evidence.place_slice = *slice;
    advice_.problem_count = ValueOf(facts_, "problem_count");
    advice_.total_us = ValueOf(facts_, "problem_us");
    advice_.time_ratio = ValueOf(facts_, "problem_ratio");
    const std::string ops = TextOf(ValueOf(facts_, "tuned_ops"));
    if (ops.empty()) return;
    for (const std::string_view op : base::Split(ops, '\n')) advice_.tuned_ops.emplace_back(op);
  }

  const Rule& rule_;
  const Question& question_;
  Values values_;
  Values facts_;
  int64_t rows_ = 0;  // that it found
  std::string kept_;  // how the rows are asked for once they are made
  std::vector<AdviceSheet> sheets_;
  Advice advice_;
};

}  // namespace

Result<std::optional<Advice>> Evaluate(const Rule& rule, const Question& question) {
  auto advice = Evaluation(rule, question).Run();
  if (!advice.ok()) return Status(advice.status()).Annotate(Concat("rule ", rule.name));
  return advice;
}

}  // namespace sonde::advisor

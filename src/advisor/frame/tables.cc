#include "advisor/frame/tables.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "advisor/frame/fill.h"
#include "base/strings.h"
#include "store/schema.h"

namespace sonde::advisor {
namespace {

using base::Concat;

bool IsTableName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
}

constexpr std::string_view kSource = "source.";
constexpr std::string_view kFile = "file ";
constexpr std::string_view kLane = "lane ";

std::string_view NameIn(std::string_view need) {
  for (const std::string_view kind : {kFile, kLane}) {
    if (need.starts_with(kind)) return need.substr(kind.size());
  }
  return need;
}

// Forms of a need: a table that has a row, a table of the imported files
// ("source.TASK"), a file kept whole ("file communication.json"), or a lane of a kind of tracks
// ("lane overlap").
std::string QuestionOf(std::string_view need) {
  if (need.starts_with(kSource)) {
    return Concat("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'source' ",
                  "AND table_name = '", need.substr(kSource.size()), "'");
  }
  if (need.starts_with(kFile)) {
    return Concat("SELECT count(*) FROM source_text WHERE ends_with(file, '/",
                  need.substr(kFile.size()), "')");
  }
  if (need.starts_with(kLane)) {
    return Concat("SELECT count(*) FROM track WHERE kind = '", need.substr(kLane.size()), "'");
  }
  // Views join a table of texts for each column that has any.
  const store::TableInfo* table = store::FindTable(need);
  return Concat("SELECT count(*) FROM (FROM ", table == nullptr ? need : table->base_table,
                " LIMIT 1)");
}

bool IsIdentifierChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Of the trace, read by many rules, and joined with their texts where they are read.
constexpr std::string_view kCopied[] = {"slice", "device_task", "framework_op"};
// Of a larger table reading costs more than planning, and the copy is of whole texts.
constexpr int64_t kMostCopiedRows = 50'000;

std::string CopyOf(std::string_view table) { return Concat("memory.main.advisor_of_", table); }

// The statements of the rule and of the tables it uses that are not made yet.
std::string StatementsOf(const Rule& rule, const Question& question) {
  std::string all = Concat(rule.with, "\n", rule.rows, "\n", rule.facts);
  for (const MoreRows& more : rule.more) all += Concat("\n", more.rows);
  for (const std::string& name : rule.uses) {
    const auto table = question.tables.find(name);
    if (table != question.tables.end()) all += Concat("\n", table->second);
  }
  return all;
}

// Where it cannot be made, the table itself is asked.
void CopyTables(const Rule& rule, Question& question) {
  const std::string statements = StatementsOf(rule, question);
  for (const std::string_view name : kCopied) {
    if (question.copies.contains(name) || !Mentions(statements, name)) continue;
    const store::TableInfo* table = store::FindTable(name);
    if (table == nullptr) continue;
    bool& is_made = question.copies[std::string(name)];
    const auto rows = question.store->Query(Concat("SELECT count(*) FROM ", table->base_table));
    if (!rows.ok() || rows->Int(0, 0) > kMostCopiedRows) continue;
    is_made = question.store->Query(Concat("CREATE TABLE ", CopyOf(name), " AS FROM ", name)).ok();
  }
}

}  // namespace

std::vector<std::string_view> NamesIn(std::string_view with) {
  std::vector<std::string_view> names;
  int depth = 0;
  bool is_next = true;
  for (size_t at = 0; at < with.size();) {
    const size_t begin = at++;
    const char c = with[begin];
    if (c == '\'') {
      at = std::min(with.find(c, at), with.size() - 1) + 1;  // two of them are two texts
    } else if (with.substr(begin).starts_with("--")) {
      at = std::min(with.find('\n', at), with.size());
    } else if (c == '(' || c == ')') {
      depth += c == '(' ? 1 : -1;
    } else if (IsIdentifierChar(c)) {
      while (at < with.size() && IsIdentifierChar(with[at])) ++at;
      if (is_next) names.push_back(with.substr(begin, at - begin));
      is_next = false;
    } else if (c == ',' && depth == 0) {
      is_next = true;
    }
  }
  return names;
}

bool Mentions(std::string_view sql, std::string_view name) {
  for (size_t at = sql.find(name); at != std::string_view::npos; at = sql.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !IsIdentifierChar(sql[at - 1]);
    if (begins && (end == sql.size() || !IsIdentifierChar(sql[end]))) return true;
  }
  return false;
}

Result<bool> Needs::Has(const std::string& need) {
  const auto known = known_.find(need);
  if (known != known_.end()) return known->second;
  const auto fact = question_.values.find(need);
  bool has = false;
  if (fact != question_.values.end()) {
    has = IsTrue(fact->second);
  } else if (question_.tables.contains(need)) {
    has = true;
  } else if (!IsTableName(NameIn(need))) {
    return base::InvalidArgumentError(Concat("'", need, "' is the name of no table"));
  } else if (question_.store == nullptr) {
    return base::InvalidArgumentError(
        Concat("a rule over all ranks may not need the table '", need, "'"));
  } else {
    SONDE_ASSIGN_OR_RETURN(const store::ResultTable table,
                           question_.store->Query(QuestionOf(need)));
    has = table.Int(0, 0) > 0;
  }
  known_.emplace(need, has);
  return has;
}

Result<std::string> Needs::Missing(const std::vector<std::string>& needs) {
  for (const std::string& need : needs) {
    SONDE_ASSIGN_OR_RETURN(const bool has, Has(need));
    if (!has) return need;
  }
  return std::string();
}

Status ChooseTables(const std::vector<SharedTable>& tables, Needs& needs, Question& question) {
  for (const SharedTable& table : tables) {
    if (question.tables.contains(table.name)) continue;
    SONDE_ASSIGN_OR_RETURN(const std::string missing, needs.Missing(table.needs));
    if (missing.empty()) question.tables[table.name] = table.sql;
  }
  return {};
}

std::string CopiesFor(const Question& question, std::string_view sql, std::string_view with) {
  const auto own = NamesIn(with);
  std::string list;
  for (const auto& [name, is_made] : question.copies) {
    if (!is_made || !Mentions(sql, name)) continue;
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    list += Concat(name, " AS (FROM ", CopyOf(name), "), ");
  }
  return list;
}

Status MakeTables(const Rule& rule, Question& question) {
  CopyTables(rule, question);
  std::string others;  // those before it, which it may use
  for (const std::string& name : rule.uses) {
    const auto table = question.tables.find(name);
    if (table == question.tables.end()) break;  // reported when the rule is evaluated
    const std::string made = Concat("FROM memory.main.advisor_", name);
    if (table->second != made) {
      SONDE_ASSIGN_OR_RETURN(const std::string sql, Fill(table->second, question.values));
      auto done = question.store->Query(Concat("CREATE TABLE memory.main.advisor_", name,
                                               " AS WITH ", CopiesFor(question, sql, {}), others,
                                               "made AS (", sql, ") FROM made"));
      if (!done.ok()) return Status(done.status()).Annotate(Concat("shared table ", name));
      question.statements[name] = sql;
      table->second = made;
    }
    others += Concat(name, " AS (", made, "), ");
  }
  return {};
}

Result<std::string> EmptyNeed(const Rule& rule, const Question& question) {
  for (const std::string& need : rule.needs) {
    if (std::find(rule.uses.begin(), rule.uses.end(), need) == rule.uses.end()) continue;
    const auto table = question.tables.find(need);
    if (table == question.tables.end()) continue;  // reported when the rule is evaluated
    SONDE_ASSIGN_OR_RETURN(
        const store::ResultTable rows,
        question.store->Query(Concat("SELECT count(*) FROM (", table->second, ")")));
    if (rows.Int(0, 0) == 0) return need;
  }
  return std::string();
}

}  // namespace sonde::advisor

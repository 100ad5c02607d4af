// The tables that rules query: which hold anything, and those that are made in addition to the
// store.
//
// In addition there are the shared tables (rules/tables.yaml), each made when the first rule uses
// it, and copies of small tables of the trace: most of what a statement over few rows takes is to
// plan the joins behind their views, and many rules read the same ones. Threads: each question for
// itself. Errors: a name that is no table, a statement that the database refuses.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/frame/evaluate.h"
#include "advisor/frame/rule.h"
#include "base/status.h"

namespace sonde::advisor {

// Which of the tables that rules need hold anything, asked once.
class Needs {
 public:
  explicit Needs(const Question& question) : question_(question) {}
  // The data that the trace lacks for the rule; "" for none. A shared table counts as there:
  // whether it has a row is known once it is made.
  Result<std::string> Missing(const std::vector<std::string>& needs);

 private:
  Result<bool> Has(const std::string& need);

  const Question& question_;
  std::map<std::string, bool, std::less<>> known_;
};

// Of the tables of one name the first whose needs are there.
Status ChooseTables(const std::vector<SharedTable>& tables, Needs& needs, Question& question);

// Makes the tables that the rule reads in addition to the store, where it can hold them: shared
// tables it uses, each once, and copies of tables of the trace.
Status MakeTables(const Rule& rule, Question& question);

// The shared table without a row that the rule needs; "" where all have one. Behind MakeTables.
Result<std::string> EmptyNeed(const Rule& rule, const Question& question);

// The copies that the statement names, as common table expressions, each with a comma behind it;
// those that `with` names itself are not meant.
std::string CopiesFor(const Question& question, std::string_view sql, std::string_view with);

// The tables that a list "a AS (...), b(x) AS (...)" names.
std::vector<std::string_view> NamesIn(std::string_view with);
// Whether it stands in the statement as a word.
bool Mentions(std::string_view sql, std::string_view name);

}  // namespace sonde::advisor

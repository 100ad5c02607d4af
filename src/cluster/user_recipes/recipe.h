// Recipes of the user: a mode that is a folder of statements and needs no compiler.
//
//   RECIPES/<name>/recipe.json   {"summary": "...", "table": "...", "wants": "..."}; the summary is
//                                needed, the table's name is that of the folder unless given
//   RECIPES/<name>/rank.sql      asks the tables of one rank, those of 'sonde query FOLDER'
//   RECIPES/<name>/reduce.sql    asks rank_rows: all that ranks gave, their number in front as
//                                column rank; without the file its rows are the result
//   RECIPES/<name>/say.sql       asks rank_rows, too: a sentence a row, under the table
// {step_id} in rank.sql stands for the number of --step_id, NULL without it. A column whose name
// ends in Ns or in _ns is nanoseconds, and microseconds in text, as in the modes of the reference.
// Values; threads: one at a time. Errors: one that names the file.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

struct UserRecipe {
  std::string name;
  std::string folder;
  std::string summary;
  std::string table;
  std::string wants;
  std::string rank_sql;
  std::string reduce_sql;  // "": all rows
  std::string say_sql;     // "": no sentences
};

struct UserRecipes {
  std::vector<UserRecipe> recipes;  // by name
  std::vector<Status> failures;     // of folders that are no recipe as they should be
  // Null where there is none of that name.
  const UserRecipe* Find(std::string_view name) const;
};

// Fails where there is no such folder.
Result<UserRecipes> FindUserRecipes(const std::string& folder);

// The columns of a result are known when its statement was run: what a Table refers to.
class UserTable {
 public:
  // With no column.
  UserTable(std::string name, std::string meaning);
  UserTable(const UserTable&) = delete;
  UserTable& operator=(const UserTable&) = delete;

  void SetColumns(const std::vector<std::string>& names,
                  const std::vector<store::ResultType>& types);
  const TableInfo& info() const { return info_; }

 private:
  std::string name_;
  std::string meaning_;
  std::deque<std::string> texts_;
  std::vector<store::ResultColumnInfo> columns_;
  std::vector<ColumnNames> names_;
  TableInfo info_;
};

}  // namespace sonde::cluster

// Tables that a store has beside those that every store has (schema.h): the rows of a comparison of
// values. They are views of its schema `main`; the names that end in '_' are a store's own
// business.
//
// Pure, any thread. Errors: those of the database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/queryable.h"

namespace sonde::store {

// Their names, in order; of a pack there are none.
Result<std::vector<std::string>> OwnTables(const Queryable& store);

// The same with their columns, for `sonde query --schema` and the like.
struct OwnColumn {
  std::string table;
  std::string name;
  std::string type;  // of SQL
};
Result<std::vector<OwnColumn>> OwnColumns(const Queryable& store);

// Whether any table that records what ran or was measured has a row; descriptions alone (processes,
// threads, tracks, facts, problems of the data) are none.
Result<bool> HasRecords(const Queryable& store);

namespace internal {

// Name, and whether it has a column `rank`, of those of an attached database; `database`: an
// expression.
std::string OwnTablesSql(std::string_view database);

}  // namespace internal

}  // namespace sonde::store

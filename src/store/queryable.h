// Interface to run SQL: for code that works on tables and need not know the store.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "store/chunk.h"
#include "store/result_table.h"

namespace sonde::store {

class Queryable {
 public:
  virtual ~Queryable() = default;
  // Whole result in memory. Integers of every width become int64 columns (a HUGEINT beyond 64 bits
  // is an error), FLOAT, DOUBLE and DECIMAL double columns, everything else text.
  virtual Result<ResultTable> Query(const std::string& sql) const = 0;
  // Passes the result to `consume` in pieces, in order, without holding it in memory. A failure of
  // `consume` ends the scan and is returned.
  virtual Status Scan(const std::string& sql,
                      const std::function<Status(const Chunk&)>& consume) const = 0;
};

}  // namespace sonde::store

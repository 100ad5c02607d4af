// Tables of imported files, kept cell by cell in schema `source` of the store, so that they can be
// exported without any change; the declared tables of tables.h hold their meaning.
//
// Every copy is a table of its own whose columns have the names that they have in the file. The
// list of all is table source_table. Order of rows is kept. A column holds one type, with NULLs;
// columns of mixed types hold SQL literals (12, 1.5, 'text', X'00').
// One thread a writer; the transaction must outlive it. Errors: Status with the database's text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/chunk.h"
#include "store/store.h"

namespace sonde::store {

// Letters of source_table.cells.
enum class CellType : char { kInteger = 'i', kReal = 'r', kText = 't', kMixed = 'm' };

struct SourceColumn {
  std::string name;
  CellType type = CellType::kText;
};

struct SourceTable {
  std::string file;        // below the folder of the trace
  std::string name;        // in that file
  std::string stored;      // name within schema `source`
  std::string definition;  // as in source_table.definition
  std::vector<SourceColumn> columns;
  int64_t row_count = 0;
};

// Names within schema `source` that are taken; one for all tables of an import.
class SourceNames {
 public:
  // `name`, or where it is taken (letter case does not count) "<file>/<name>" and so on.
  std::string Take(std::string_view file, std::string_view name);

 private:
  std::set<std::string> taken_;
};

class SourceTableWriter {
 public:
  // Makes the table; sets table.stored.
  static Result<SourceTableWriter> Create(Transaction& transaction, SourceNames& names,
                                          SourceTable table);
  SourceTableWriter(SourceTableWriter&&) noexcept;
  ~SourceTableWriter();

  // The cells of a row in the order of the columns, then EndRow(). The type must be the column's.
  void Int(int64_t value);
  void Real(double value);
  void Text(std::string_view value);  // valid UTF-8; for kText and kMixed
  void Null();
  void EndRow();

  // Writes the remaining rows and the row of table source_table; the first failure of all is
  // returned.
  Status Close();

 private:
  struct Impl;
  explicit SourceTableWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// All of a store, in the order in which they were written.
Result<std::vector<SourceTable>> SourceTables(const Store& store);

// The rows in their order.
Status ScanSourceTable(const Store& store, const SourceTable& table,
                       const std::function<Status(const Chunk&)>& consume);

}  // namespace sonde::store

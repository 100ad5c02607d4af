// Values of a result as JSON cells, and the form of a statement's result for the page.
//
// Threads: one.
#pragma once

#include <string>

#include "base/host/json_writer.h"
#include "report/csv_writer.h"
#include "serve/messages.h"
#include "store/chunk.h"
#include "store/result_info.h"
#include "store/store.h"

namespace sonde::serve {

// Integers that a double does not hold exactly become texts.
void WriteCell(base::JsonWriter& json, const store::Chunk& chunk, size_t column, size_t row);
void WriteCell(report::CsvWriter& csv, const store::Chunk& chunk, size_t column, size_t row);

// "integer", "real", "text" or "boolean".
std::string CellType(store::ValueType type);

// Rows of a result as arrays of cells, up to a number of them.
class CellSink final : public store::RowSink {
 public:
  explicit CellSink(int64_t max_rows);
  void Int(int64_t value) override;
  void Double(double value) override;
  void Text(std::string_view value) override;
  void Null() override;
  void EndRow() override;
  bool wants_more() const override { return rows_ <= max_rows_; }
  bool is_complete() const { return rows_ <= max_rows_; }
  std::string Take();

 private:
  // Begins the row; false behind the last that is wanted.
  bool Cell();
  base::JsonWriter json_;
  int64_t max_rows_;
  int64_t rows_ = 0;
  bool is_begun_ = false;
};

}  // namespace sonde::serve

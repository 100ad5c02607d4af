// Values of a result as JSON cells, and the form of a statement's result for the page.
//
// Threads: one.
#pragma once

#include <string>

#include "base/host/csv_writer.h"
#include "base/host/json_writer.h"
#include "serve/messages.h"
#include "store/chunk.h"
#include "store/result_table.h"
#include "store/store.h"

namespace sonde::serve {

// Integers that a double does not hold exactly become texts.
void WriteCell(base::JsonWriter& json, const store::Chunk& chunk, size_t column, size_t row);
void WriteCell(base::CsvWriter& csv, const store::Chunk& chunk, size_t column, size_t row);

// "integer", "real", "text" or "boolean".
std::string CellType(store::ValueType type);

TableMessage ToTable(const store::ResultTable& table);

}  // namespace sonde::serve

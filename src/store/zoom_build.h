// Makes a zoom index (zoom_index.h) from a store: from tables that can be queried, or from rows
// that are still in memory. Errors: Status, with the database's own text.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "store/queryable.h"
#include "store/zoom_writer.h"

namespace sonde::store {

class RowTables;

// Lanes for streams that have tasks but no slices of their own. After all slices. `sort`: where the
// rows of a stream are not in order.
Status AddTaskLanes(const Queryable& tables, ZoomWriter& writer, bool sort);
// The same from rows in memory, in their order.
void AddTaskLanes(const RowTables& rows, ZoomWriter& writer);

// All of it, finished; the caller commits. `store_id`: of the store that it belongs to.
Result<ZoomWriter> BuildZoomIndex(const Queryable& tables, int64_t store_id,
                                  const std::string& path);

}  // namespace sonde::store

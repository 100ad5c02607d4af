// Which parts of a store an analysis reads: only these are loaded (TraceData::Load).
//
//   constexpr Needs kNeeds = Reads<store::DeviceTaskRow, store::TaskKindRow>();
//
// Names, processes, threads, tracks, kinds of tasks, metadata and import issues are there always.
// Pure, any thread.
#pragma once

#include <cstdint>

#include "store/rows.h"
#include "store/table_set.h"

namespace sonde::recipes {

using store::kTableBit;

struct Needs {
  uint64_t tables = store::kAllTables;
  bool order = true;         // TraceData::preorder, op_of_slice, track_begin, stack_begin
  bool bounds = true;        // TraceData::first_ns, last_ns; also ends of unfinished slices
  bool device_times = true;  // Device::overlap, steps
  bool waits = false;        // DeviceView::waits_ns, where the traces of a job show them

  template <class Row>
  constexpr bool Has() const {
    return (tables & kTableBit<Row>) != 0;
  }
  // What either reads.
  constexpr Needs operator|(const Needs& other) const {
    return {.tables = tables | other.tables,
            .order = order || other.order,
            .bounds = bounds || other.bounds,
            .device_times = device_times || other.device_times,
            .waits = waits || other.waits};
  }
  constexpr Needs WithOrder() const {
    Needs needs = *this;
    needs.order = true;
    return needs;
  }
  constexpr Needs WithBounds() const {
    Needs needs = *this;
    needs.bounds = true;
    return needs;
  }
  constexpr Needs WithDeviceTimes() const {
    Needs needs = WithBounds();
    needs.device_times = true;
    return needs;
  }
  constexpr Needs WithWaits() const {
    Needs needs = *this;
    needs.waits = true;
    return needs;
  }
};

template <class... Rows>
constexpr Needs Reads() {
  return {
      .tables =
          store::TablesOf<store::NameRow, store::ProcessRow, store::ThreadRow, store::TrackRow,
                          store::MetadataRow, store::ImportIssueRow, store::TaskKindRow, Rows...>(),
      .order = false,
      .bounds = false,
      .device_times = false};
}

}  // namespace sonde::recipes

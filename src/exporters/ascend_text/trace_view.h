// trace_view.json: all layers of a rank as one Chrome trace, an array of events on one line
// without blanks.
//
// Layers: Python (operators, modules, Python functions, fwdbwd flows), Python GC, markers of the
// user, from level 1 the host calls with HostToDevice flows, Ascend Hardware (streams with device
// tasks), Communication (groups), Overlap Analysis; async_npu flows from operators to device work.
// Times are exact: `ts` is a text of microseconds with three decimals, `dur` a number. Within a row
// (pid, tid) events nest or are disjoint, but for parts of one device task that ran in parallel to
// each other; each flow has exactly one start and one end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exporters/exporter.h"
#include "exporters/format/call_arguments.h"
#include "exporters/format/counter_lanes.h"
#include "exporters/format/plane_slices.h"
#include "exporters/format/slice_arguments.h"
#include "exporters/format/trace_pieces.h"

namespace sonde::exporters {

// Parts of imported traces in addition to the tables of captures.
struct ImportedSlices {
  SliceArguments arguments;
  CallArguments calls;
  std::vector<PlaneSlice> planes;
  std::vector<int32_t> rest;                           // rest_slices.h, without those of planes
  std::unordered_map<int32_t, int64_t> queue_numbers;  // of entries of a host queue, by slice

  static Result<ImportedSlices> Load(const ExportContext& context);
};

// The pieces refer to the arguments, which must outlive them.
TracePieces TraceViewPieces(const ExportContext& context, const ImportedSlices& imported);
// The same in the device tool's own timeline: host calls, device work with communication and
// overlap, counters.
TracePieces DeviceTracePieces(const ExportContext& context, const ImportedSlices& imported);

// The framework's layers: operators, modules and Python functions, garbage collection, markers,
// queues between host threads; counters.
void AddPythonLayers(const ExportContext& context, const ImportedSlices& imported,
                     TracePieces& pieces);
// Host calls and the flows from them to device work: those of the vendor's interface, else what
// launched device work.
void AddHostLayer(const ExportContext& context, const ImportedSlices& imported,
                  TracePieces& pieces);
void AddRecordedCalls(const ExportContext& context, const ImportedSlices& imported,
                      TracePieces& pieces);
// Device work, communication, overlap, and `with_operators` the flows from operators to device
// work.
void AddDeviceLayers(const ExportContext& context, const ImportedSlices& imported,
                     bool with_operators, TracePieces& pieces);
// `with_modules`: also what has a table in the device tool's files.
void AddCounters(const ExportContext& context, bool with_modules, TracePieces& pieces);
// Slices that no other layer has and that lie on no thread, each track a row.
void AddRestLayer(const ExportContext& context, const ImportedSlices& imported,
                  TracePieces& pieces);

// Single layers of AddPythonLayers.
void AppendGarbageCollections(const recipes::TraceData& data, LineBuffer& out);
void AppendMarkers(const recipes::TraceData& data, LineBuffer& out);
void AppendCounterProcesses(const CounterLanes& lanes, LineBuffer& out);
void AppendCounters(const recipes::TraceData& data, const CounterLanes& lanes, bool with_modules,
                    size_t begin, size_t end, LineBuffer& out);

// Events of type M that name a process, and a row of it.
struct ProcessNames {
  int64_t pid;
  std::string_view name;
  std::string_view label;
  int64_t sort_index;
};
void AppendProcessNames(const ProcessNames& process, LineBuffer& out);
void AppendThreadNames(int64_t pid, int64_t tid, std::string_view name, int64_t sort_index,
                       LineBuffer& out);

// "Thread 123"
std::string ThreadLabel(int64_t tid);

// One end of a flow.
struct FlowEnd {
  char phase;  // 's' or 'f'
  std::string_view name;
  std::string_view category;
  int64_t pid;
  int64_t tid;
  int64_t ts_ns;
};
void AppendFlowEnd(const FlowEnd& end, int64_t id, LineBuffer& out);

}  // namespace sonde::exporters

// The events of a Kineto trace in pieces (format/trace_pieces.h), and its frame.
//
// Times are relative to `base_ns`, a multiple of a quarter of a year as in Kineto, and are written
// as microseconds with three decimals. Threads: the pieces run in any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "exporters/exporter.h"
#include "exporters/format/slice_arguments.h"
#include "exporters/format/trace_pieces.h"

namespace sonde::exporters {

int64_t KinetoBaseNs(int64_t first_ns);

// Everything before the first event: metadata of the run, "traceEvents": [
std::string KinetoHead(const ExportContext& context, int64_t base_ns);
// Everything after the last: ], "traceName": ...
std::string KinetoTail(const std::string& file_name);

// Marks that close every recording.
inline constexpr std::string_view kIterationStart = "Iteration Start: PyTorch Profiler";
inline constexpr std::string_view kRecordWindowEnd = "Record Window End";
// JSON members by which a range of the user is read back as one: its kind and domain.
std::string MarkArguments(const recipes::TraceData& data, const store::MarkRow& mark);

// Names of processes and threads; the first event of the file.
void AddKinetoNames(const ExportContext& context, int64_t base_ns, TracePieces& pieces);
// Operators, annotations, modules, Python functions, fwdbwd flows.
void AddKinetoHost(const ExportContext& context, int64_t base_ns, TracePieces& pieces);
// Parts of imported traces in addition to the tables of captures.
struct KinetoImported {
  SliceArguments arguments;
  std::vector<int32_t> rest;  // slices that only AddKinetoRest writes
  std::unordered_set<int32_t> on_planes;
  bool has_runtime = false;  // the calls that launched work are among them

  static Result<KinetoImported> Load(const ExportContext& context);
};

// Kernels, copies and waits; launches, where no calls of a runtime were recorded, and their flows.
void AddKinetoDevice(const ExportContext& context, const KinetoImported& imported, int64_t base_ns,
                     TracePieces& pieces);
// Slices without another place; counters.
void AddKinetoRest(const ExportContext& context, const KinetoImported& imported, int64_t base_ns,
                   TracePieces& pieces);
// Allocator events and the closing marks of the recording.
void AddKinetoInstants(const ExportContext& context, int64_t base_ns, TracePieces& pieces);

}  // namespace sonde::exporters

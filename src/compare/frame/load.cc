#include "compare/frame/load.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "importers/import_trace.h"
#include "job/job.h"
#include "job/open_rows.h"

namespace sonde::compare {
namespace {

using base::Concat;

constexpr recipes::Needs kNeeds =
    recipes::Reads<store::SliceRow, store::ApiCallRow, store::FrameworkOpRow, store::OpSignatureRow,
                   store::CallstackRow, store::FlowRow, store::DeviceTaskRow,
                   store::DeviceTaskPmuRow, store::CommunicationOpRow,
                   store::CommunicationTransitRow, store::CommunicationGroupRow,
                   store::MemoryEventRow, store::MemoryBlockRow, store::StepRow, store::RequestRow,
                   store::EngineStepRow, store::RequestStepRow, store::CounterRow>()
        .WithOrder()
        .WithBounds();

Status SeveralTraces(const std::string& path, const job::Job& job) {
  constexpr size_t kShown = 3;
  std::vector<std::string> paths;
  for (const job::Trace& trace : job.traces) {
    if (paths.size() == kShown) break;
    paths.push_back(trace.source.path);
  }
  return base::InvalidArgumentError(
      Concat("'", path, "' holds ", base::CountOf(job.traces.size(), "trace"),
             ", but a comparison takes one on each side: name it, as ", base::Join(paths, " or "),
             job.traces.size() > kShown ? " ..." : ""));
}

// The store that is there. Of a foreign trace that has none, and is not large, the rows are read
// from its files: to write them down for the next command takes longer than to compare them.
Result<std::unique_ptr<store::Store>> OpenOrRead(const importers::TraceSource& source,
                                                 Reading reading, int threads,
                                                 const job::NoticeSink& notify) {
  constexpr uint64_t kLarge = uint64_t{64} << 20U;
  const bool makes_store = source.importer->is_ours || reading == Reading::kTwice ||
                           !job::HasAtMost(kLarge, source.path);
  if (makes_store || importers::FindCachedStore(source)) {
    return importers::OpenOrImport(source, {.threads = threads}, notify);
  }
  return job::ReadRows(source, kNeeds, job::SpareForRows(), threads, notify);
}

// Transfers over all operations, in GB/s.
void SetBandwidths(const recipes::TraceData& data, Side& side) {
  std::map<std::string_view, std::pair<int64_t, int64_t>> sums;  // bytes and nanoseconds
  for (const store::CommunicationTransitRow& row : data.transits) {
    const std::string_view transport = data.Name(row.transport);
    const bool is_remote = transport == "RDMA";
    if (transport == "LOCAL") continue;
    auto& [bytes, ns] = sums[is_remote ? "RDMA" : "SDMA"];
    bytes += row.size_bytes;
    ns += row.duration_ns;
  }
  for (const auto& [transport, sum] : sums) {
    if (sum.second <= 0) continue;
    const double gbps = static_cast<double>(sum.first) / static_cast<double>(sum.second);
    (transport == "RDMA" ? side.rdma_gbps : side.sdma_gbps) = gbps;
  }
}

}  // namespace

recipes::Needs SideNeeds() { return kNeeds; }

Result<Side> SideOf(const recipes::TraceData& data, const std::string& path, int64_t step_id) {
  SONDE_ASSIGN_OR_RETURN(Side side, MakeSide(data, path, step_id));
  SetBandwidths(data, side);
  return side;
}

Result<Side> LoadSide(const std::string& path, int64_t step_id, Reading reading, int threads,
                      const job::NoticeSink& notify) {
  SONDE_ASSIGN_OR_RETURN(const job::Job job, job::FindWholeJob({path}));
  const std::optional<job::Trace> trace = job::OnlyProgram(job);
  if (!trace) return SeveralTraces(path, job);
  SONDE_ASSIGN_OR_RETURN(const auto store, OpenOrRead(trace->source, reading, threads, notify));
  SONDE_ASSIGN_OR_RETURN(const auto data, recipes::TraceData::Load(*store, threads, kNeeds));
  return SideOf(data, path, step_id);
}

}  // namespace sonde::compare

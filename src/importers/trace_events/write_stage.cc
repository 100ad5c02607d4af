// Writes the rows of EventStage.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "importers/import_watch.h"
#include "importers/trace_events/flow_pairs.h"
#include "importers/trace_events/issues.h"
#include "importers/trace_events/stage.h"
#include "store/table_writer.h"
#include "store/zoom_writer.h"

namespace sonde::importers::trace_events {
namespace {

// Positions in `count` numbered things by number; those without a number are left out.
std::vector<size_t> ByNumber(const std::vector<int32_t>& numbers) {
  std::vector<size_t> places(numbers.size());
  size_t used = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) continue;
    places[static_cast<size_t>(numbers[i])] = i;
    ++used;
  }
  places.resize(used);
  return places;
}

int32_t NumberAt(const std::vector<int32_t>& numbers, int32_t place) {
  return place < 0 ? store::kNone : numbers[static_cast<size_t>(place)];
}

}  // namespace

Status EventStage::WriteRest(store::Transaction& transaction) {
  SONDE_RETURN_IF_ERROR(WriteThreads(transaction));
  SONDE_RETURN_IF_ERROR(WriteTracks(transaction));
  return WriteMarks(transaction);
}

// Processes of one name can be distinguished only by a pid that is a text, as joined files have.
int32_t EventStage::NameOf(const ProcessEntry& process) {
  if (process.name < 0) return names().Intern(process.pid);
  const std::string_view name = names().Text(process.name);
  const bool is_distinct = base::ParseInt64(process.pid) || process.pid.empty() ||
                           name.find(process.pid) != std::string_view::npos;
  if (is_distinct) return process.name;
  return names().Intern(base::Concat(std::string(name), " (", process.pid, ")"));
}

Status EventStage::WriteThreads(store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto processes, store::TableWriter<store::ProcessRow>::Open(transaction));
  for (const size_t i : ByNumber(arrangement_.process_ids)) {
    const ProcessEntry& process = tracks_.processes[i];
    processes.Append({.process_id = arrangement_.process_ids[i],
                      .pid = process.number,
                      .name = NameOf(process),
                      .rank = rank_,
                      .host = host_});
  }
  SONDE_RETURN_IF_ERROR(processes.Close());
  SONDE_ASSIGN_OR_RETURN(auto threads, store::TableWriter<store::ThreadRow>::Open(transaction));
  for (const size_t i : ByNumber(arrangement_.thread_ids)) {
    const ThreadEntry& thread = tracks_.threads[i];
    threads.Append({.thread_id = arrangement_.thread_ids[i],
                    .tid = thread.number,
                    .process_id = NumberAt(arrangement_.process_ids, thread.process),
                    .name = thread.name >= 0 ? thread.name : names().Intern(thread.tid)});
  }
  return threads.Close();
}

Status EventStage::WriteTracks(store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::TrackRow>::Open(transaction));
  for (const size_t i : ByNumber(arrangement_.track_ids)) {
    const TrackEntry& track = tracks_.tracks[i];
    const int32_t id = arrangement_.track_ids[i];
    writer.Append({.track_id = id,
                   .kind = track.kind,
                   .name = track.name,
                   .process_id = NumberAt(arrangement_.process_ids, track.process),
                   .thread_id = NumberAt(arrangement_.thread_ids, track.thread),
                   .device_id = track.device_id,
                   .stream_id = track.stream_id,
                   .sort_index = id});
  }
  return writer.Close();
}

Status EventStage::WriteSlices(store::Transaction& transaction, store::ZoomWriter& zoom) const {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::SliceRow>::Open(transaction));
  constexpr int32_t kReportEvery = 1 << 16;
  base::SpillSteps steps(&pool_);
  for (int32_t id = 0; id < slice_count(); ++id) {
    steps.Next();
    if (options_.watch != nullptr && id % kReportEvery == kReportEvery - 1) {
      if (options_.watch->cancelled()) return base::CancelledError("the import was cancelled");
      options_.watch->Write(kReportEvery);
    }
    const StagedSlice& slice = Slice(id);
    store::SliceRow row;
    row.slice_id = id;
    row.ts = slice.ts;
    row.dur = slice.dur;
    row.track_id = arrangement_.track_ids[static_cast<size_t>(slice.track)];
    row.name = slice.name;
    row.category = slice.category;
    row.depth = arrangement_.depths[static_cast<size_t>(id)];
    row.parent_id = Parent(id);
    row.args_id = slice.args_id;
    writer.Append(row);
    zoom.Add(row);
  }
  return writer.Close();
}

void EventStage::NameFlows() {
  int32_t last = store::kNone - 1;
  flow_ends().ForEach([&](uint32_t, const FlowEnd& end) {
    if (end.category == last) return;
    last = end.category;
    const auto [kind, is_new] = flow_kinds_.try_emplace(last);
    if (!is_new) return;
    const std::string_view category = last < 0 ? std::string_view() : names().Text(last);
    kind->second = names().Intern(dialect_.FlowKind(category));
  });
}

void EventStage::PairFlows() {
  if (flow_pairs_ == nullptr) flow_pairs_ = std::make_unique<FlowPairs>(staged_.flows, pool());
}

Status EventStage::WriteFlows(store::Transaction& transaction) {
  PairFlows();
  const std::unique_ptr<const FlowPairs> pairs = std::move(flow_pairs_);
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::FlowRow>::Open(transaction));
  int32_t id = 0;
  base::SpillSteps steps(pool());
  for (const FlowPairs::Flow& flow : pairs->flows()) {
    steps.Next();
    const FlowEnd& from = staged_.flows[flow.from];
    const FlowEnd& to = staged_.flows[flow.to];
    unbound_flows_ += (from.slice < 0 ? 1 : 0) + (to.slice < 0 ? 1 : 0);
    writer.Append({.flow_id = id++,
                   .kind = flow_kinds_.at(from.category),
                   .key = from.number,
                   .slice_out = from.slice,
                   .slice_in = to.slice});
  }
  unpaired_flows_ = pairs->unpaired();
  repeated_flows_ = pairs->repeated();
  return writer.Close();
}

void EventStage::CountFlows() {
  if (unpaired_flows_ > 0) issues_.Add(kUnpairedFlow, path_, -1, unpaired_flows_);
  if (repeated_flows_ > 0) issues_.Add(kRepeatedFlow, path_, -1, repeated_flows_);
  if (unbound_flows_ > 0) issues_.Add(kUnboundFlow, path_, -1, unbound_flows_);
}

Status EventStage::WriteCounters(store::Transaction& transaction) const {
  SONDE_ASSIGN_OR_RETURN(auto counters, store::TableWriter<store::CounterRow>::Open(transaction));
  staged_.counters.ForEach([&](uint32_t, const CounterValue& value) {
    if (value.track < 0) return;
    counters.Append({.ts = value.ts,
                     .track_id = arrangement_.track_ids[static_cast<size_t>(value.track)],
                     .value = value.value});
  });
  return counters.Close();
}

// Instants that the dialect did not take.
Status EventStage::WriteMarks(store::Transaction& transaction) {
  std::vector<const InstantEvent*> marks;
  std::as_const(staged_).instants.ForEach([&](uint32_t, const InstantEvent& instant) {
    if (!instant.taken && !instant.left_out) marks.push_back(&instant);
  });
  std::stable_sort(marks.begin(), marks.end(),
                   [](const InstantEvent* a, const InstantEvent* b) { return a->ts < b->ts; });
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::MarkRow>::Open(transaction));
  const int32_t kind = names().Intern("marker");
  const int32_t domain = names().Intern("default");
  int32_t id = 0;
  for (const InstantEvent* instant : marks) {
    const int32_t track = tracks_.threads[static_cast<size_t>(instant->thread)].tracks[0];
    writer.Append({.mark_id = id++,
                   .ts = instant->ts,
                   .dur = 0,
                   .track_id = NumberAt(arrangement_.track_ids, track),
                   .domain = instant->category >= 0 ? instant->category : domain,
                   .message = instant->name,
                   .kind = kind,
                   .args_id = instant->args_id});
  }
  return writer.Close();
}

}  // namespace sonde::importers::trace_events

#include "importers/ascend_raw/framework.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr int16_t kScopeOp = 0;
constexpr int16_t kScopeBackward = 1;
constexpr int16_t kScopeStep = 8;
constexpr uint8_t kRecordedBackward = 1;  // of the framework's own scopes

}  // namespace

void OpenRanges::Sort() {
  for (auto& [tid, ranges] : threads_) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.end != b.end ? a.end > b.end : a.slice < b.slice;
    });
    int32_t open = -1;
    for (size_t i = 0; i < ranges.size(); ++i) {
      while (open >= 0 && ranges[static_cast<size_t>(open)].end < ranges[i].begin) {
        open = ranges[static_cast<size_t>(open)].parent;
      }
      ranges[i].parent = open;
      open = static_cast<int32_t>(i);
    }
  }
}

int32_t OpenRanges::Innermost(int64_t tid, int64_t at,
                              const std::function<bool(int32_t slice)>& accepts) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) return store::kNone;
  const base::SpillVector<Range>& ranges = thread->second;
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), at,
                       [](int64_t t, const Range& range) { return t < range.begin; });
  auto index = static_cast<int32_t>(after - ranges.begin()) - 1;
  while (index >= 0) {
    const Range& range = ranges[static_cast<size_t>(index)];
    if (range.end >= at && accepts(range.slice)) return range.slice;
    index = range.parent;
  }
  return store::kNone;
}

bool FrameworkLayer::Read(const RecordFile& file, const Clock& clock) {
  const std::string_view name = base::BaseName(file.name);
  if (name == "torch.op_range") {
    ReadFrames<OpRange>(file, [&](const OpRange& op) { TakeOp(op, clock); });
  } else if (name == "torch.op_mark") {
    ReadFrames<OpMark>(file, [&](const OpMark& mark) {
      marks_.push_back({.ts = clock.FromTicks(mark.time),
                        .correlation = mark.correlation,
                        .tid = mark.tid,
                        .pid = mark.pid,
                        .name = rows_.names.Intern(mark.name),
                        .order = static_cast<uint32_t>(marks_.size()),
                        .kind = static_cast<uint8_t>(std::min<uint64_t>(mark.kind, UINT8_MAX))});
    });
  } else if (name == "torch.memory_usage") {
    ReadFrames<MemoryUse>(file, [&](const MemoryUse& use) {
      memory_.push_back({clock.FromTicks(use.time), use, static_cast<uint32_t>(memory_.size())});
    });
  } else if (name == "torch.python_tracer_func") {
    file_ = file.name;
    ReadStructs<PythonCall>(file, [&](const PythonCall& call) {
      if (pid_ < 0) pid_ = static_cast<int64_t>(call.pid);
      calls_.try_emplace(static_cast<int64_t>(call.tid), Allocator<Call>())
          .first->second.push_back({clock.FromTicks(call.time), call.key,
                                    static_cast<uint32_t>(call_count_++), call.kind});
    });
  } else if (name == "torch.python_tracer_hash") {
    ReadFrames<PythonName>(file,
                           [&](const PythonName& entry) { python_names_[entry.key] = entry.text; });
  } else if (name == "torch.gc_record") {
    ReadStructs<GcRecord>(file, [&](const GcRecord& gc) {
      const int32_t thread = Thread(gc.pid, gc.pid);
      const int64_t begin = clock.FromTicks(gc.begin);
      rows_.AddSlice(rows_.ThreadTrack(capture::TrackKind::kGarbageCollection, thread), begin,
                     SpanNs(begin, clock.FromTicks(gc.end)), rows_.names.Intern("GC"),
                     rows_.names.Intern("gc"));
    });
  } else {
    return false;
  }
  return true;
}

void FrameworkLayer::Finish() {
  ops_.Sort();
  PairQueue();
  PairForwardBackward();
  SetForwardThreads();
  AddPythonCalls();
  AddMemory();
}

std::optional<std::pair<int64_t, int64_t>> FrameworkLayer::AskedAt(int64_t tid, int64_t at) const {
  const auto thread = dequeued_.find(tid);
  if (thread == dequeued_.end()) return std::pair(tid, at);
  const auto& entries = thread->second;
  auto entry = std::upper_bound(entries.begin(), entries.end(), at,
                                [](int64_t t, const QueueEntry& e) { return t < e.begin; });
  if (entry == entries.begin()) return std::nullopt;
  --entry;
  const QueueEntry* put = enqueued_.Find(entry->correlation);
  if (at > entry->end || put == nullptr) return std::nullopt;
  return std::pair(put->tid, put->end);
}

int32_t FrameworkLayer::OperatorAt(int64_t tid, int64_t at) const {
  const auto asked = AskedAt(tid, at);
  return asked ? ops_.Innermost(asked->first, asked->second) : store::kNone;
}

int32_t FrameworkLayer::Thread(uint64_t pid, uint64_t tid) {
  if (pid_ < 0) pid_ = static_cast<int64_t>(pid);
  return rows_.Thread(rows_.Process(static_cast<int64_t>(pid)), static_cast<int64_t>(tid));
}

void FrameworkLayer::TakeOp(const OpRange& op, const Clock& clock) {
  const bool is_step = op.name.starts_with(kStepPrefix);
  const int64_t begin = clock.FromTicks(op.begin);
  const int64_t dur = SpanNs(begin, clock.FromTicks(op.end));
  const int32_t thread = Thread(op.pid, op.tid);
  const int32_t slice = rows_.AddSlice(rows_.ThreadTrack(capture::TrackKind::kThread, thread),
                                       begin, dur, rows_.names.Intern(op.name),
                                       rows_.names.Intern(is_step ? "user_annotation" : "cpu_op"));
  store::FrameworkOpRow row;
  row.slice_id = slice;
  const bool is_backward = op.forward_thread > 0 || op.scope == kRecordedBackward;
  row.scope = is_step ? kScopeStep : is_backward ? kScopeBackward : kScopeOp;
  row.sequence_number = std::max<int64_t>(op.sequence, -1);
  row.signature_id = SignatureOf(op);
  row.stack_id = StackOf(op.stack);
  if (!op.modules.empty()) row.module = rows_.names.Intern(op.modules);
  if (is_step) AddStep(slice, op.name);
  ops_.Add(static_cast<int64_t>(op.tid), begin, begin + std::max<int64_t>(dur, 0), slice);
  const auto index = static_cast<int32_t>(rows_.ops.size());
  rows_.ops.push_back(row);
  if (op.forward_thread > 0) backward_.emplace_back(index, op.forward_thread);
  if (op.sequence < 0 || is_step) return;
  // Several operators that call each other have the same number: the innermost made the node.
  Ends& ends = ends_[op.sequence];
  int32_t& end = op.forward_thread == 0 ? ends.forward : ends.backward;
  const auto begin_of = [&](int32_t of) {
    const int32_t at = rows_.ops[static_cast<size_t>(of)].slice_id;
    return rows_.slices[static_cast<size_t>(at)].ts;
  };
  if (end < 0 || begin_of(end) < begin) end = index;
  if (op.forward_thread > 0) ends.forward_thread = op.forward_thread;
}

int32_t FrameworkLayer::SignatureOf(const OpRange& op) {
  if (op.shapes.empty() && op.types.empty()) return store::kNone;
  // Shapes of scalars are empty, and known where the types are.
  const int32_t types = op.types.empty() ? store::kNone : rows_.names.Intern(op.types);
  return rows_.Signature(rows_.names.Intern(op.shapes), types);
}

int32_t FrameworkLayer::StackOf(std::string_view stack) {
  if (stack.empty()) return store::kNone;
  const auto [known, is_new] =
      stacks_.try_emplace(std::string(stack), static_cast<int32_t>(stacks_.size()));
  if (!is_new) return known->second;
  int32_t depth = 0;
  for (const std::string_view frame : base::Split(stack, ';')) {
    rows_.callstacks.push_back(
        {.stack_id = known->second, .depth = depth++, .frame = rows_.names.Intern(frame)});
  }
  return known->second;
}

void FrameworkLayer::AddStep(int32_t slice, std::string_view name) {
  const auto number = base::ParseInt64(name.substr(kStepPrefix.size()));
  if (!number) return;
  const store::SliceRow& row = rows_.slices[static_cast<size_t>(slice)];
  store::StepRow step;
  step.step_id = *number;
  step.rank = rows_.rank;
  step.process_id = rows_.tracks[static_cast<size_t>(row.track_id)].process_id;
  step.slice_id = slice;
  step.ts = row.ts;
  step.dur = row.dur;
  rows_.steps.push_back(step);
}

void FrameworkLayer::AddFlow(std::string_view kind, int64_t key, int32_t out, int32_t in) {
  store::FlowRow flow;
  flow.kind = rows_.names.Intern(kind);
  flow.key = key;
  flow.slice_out = out;
  flow.slice_in = in;
  rows_.flows.push_back(flow);
}

void FrameworkLayer::PairQueue() {
  std::sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) {
    return a.ts != b.ts ? a.ts < b.ts : a.order < b.order;
  });
  // Begins that wait for their end, by side, thread and name: the last one counts.
  std::map<std::tuple<bool, uint64_t, int32_t>, const Mark*> open;
  int64_t unpaired = 0;
  for (const Mark& mark : marks_) {
    const uint8_t kind = mark.kind;
    const bool is_put = kind <= OpMark::kEnqueueEnd;
    if (kind > OpMark::kDequeueEnd) {
      rows_.issues.Add(kBadRecord, "torch.op_mark");
      continue;
    }
    const Mark*& begin = open[{is_put, mark.tid, mark.name}];
    if (kind == OpMark::kEnqueueBegin || kind == OpMark::kDequeueBegin) {
      unpaired += begin != nullptr ? 1 : 0;
      begin = &mark;
    } else if (begin == nullptr) {
      ++unpaired;
    } else {
      AddQueueEntry(*begin, mark, is_put);
      begin = nullptr;
    }
  }
  for (const auto& [key, begin] : open) unpaired += begin != nullptr ? 1 : 0;
  if (unpaired > 0) rows_.issues.Add(kQueueUnpaired, "torch.op_mark", -1, unpaired);
  for (auto& [tid, entries] : dequeued_) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const QueueEntry& a, const QueueEntry& b) { return a.begin < b.begin; });
    for (const QueueEntry& entry : entries) {
      const QueueEntry* put = enqueued_.Find(entry.correlation);
      if (put == nullptr) continue;
      AddFlow("enqueue_dequeue", entry.correlation, put->slice, entry.slice);
    }
  }
  marks_ = base::SpillVector<Mark>(Allocator<Mark>());
}

void FrameworkLayer::AddQueueEntry(const Mark& begin, const Mark& end, bool is_put) {
  const int32_t thread = Thread(end.pid, end.tid);
  const std::string name = Concat(is_put ? "Enqueue@" : "Dequeue@", rows_.names.Text(end.name));
  QueueEntry entry{begin.ts, end.ts, static_cast<int64_t>(end.tid),
                   static_cast<int64_t>(end.correlation)};
  entry.slice = rows_.AddSlice(rows_.ThreadTrack(capture::TrackKind::kThread, thread), begin.ts,
                               SpanNs(begin.ts, end.ts), rows_.names.Intern(name),
                               rows_.names.Intern("task_queue"));
  if (is_put) {
    *enqueued_.Insert(entry.correlation, entry).first = entry;
  } else {
    dequeued_.try_emplace(entry.tid, Allocator<QueueEntry>()).first->second.push_back(entry);
  }
}

// Both ends on one thread are no arrow.
void FrameworkLayer::PairForwardBackward() {
  for (const auto& [sequence, ends] : ends_) {
    if (ends.forward < 0 || ends.backward < 0) continue;
    if (ThreadOf(ends.forward) == ThreadOf(ends.backward)) continue;
    AddFlow("forward_backward", sequence, rows_.ops[static_cast<size_t>(ends.forward)].slice_id,
            rows_.ops[static_cast<size_t>(ends.backward)].slice_id);
  }
}

// The framework numbers its threads: a backward operator has the number of its forward operator's
// thread, whose id is known.
void FrameworkLayer::SetForwardThreads() {
  std::map<uint64_t, int32_t> thread_of_number;
  for (const auto& [sequence, ends] : ends_) {
    if (ends.forward < 0 || ends.backward < 0 || ends.forward_thread > INT32_MAX) continue;
    const int32_t thread = ThreadOf(ends.forward);
    if (!thread_of_number.try_emplace(ends.forward_thread, thread).second) continue;
    rows_.threads[static_cast<size_t>(thread)].framework_number =
        static_cast<int32_t>(ends.forward_thread);
  }
  for (const auto& [op, number] : backward_) {
    const auto thread = thread_of_number.find(number);
    if (thread == thread_of_number.end()) continue;
    rows_.ops[static_cast<size_t>(op)].forward_thread_id = thread->second;
  }
}

int32_t FrameworkLayer::ThreadOf(int32_t op) const {
  const int32_t slice = rows_.ops[static_cast<size_t>(op)].slice_id;
  const int32_t track = rows_.slices[static_cast<size_t>(slice)].track_id;
  return rows_.tracks[static_cast<size_t>(track)].thread_id;
}

}  // namespace sonde::importers::raw

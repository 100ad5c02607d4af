// From slots to the stage of a thread.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "importers/capture/issues.h"
#include "importers/capture/stage.h"

namespace sonde::importers::capture_import {
namespace {

using base::LoadLe;
using capture::MemoryHead;
using capture::MemoryTail;
using capture::Record;
using capture::RecordKind;

// The 8 bytes of args and link, or of link and sequence.
uint64_t ArgsAndLink(const Record& record) {
  return uint64_t{record.args} | (uint64_t{record.link} << 32U);
}
uint64_t LinkAndSequence(const Record& record) {
  return uint64_t{record.link} | (uint64_t{static_cast<uint32_t>(record.sequence)} << 32U);
}

class Decoder {
 public:
  Decoder(ThreadStage& stage, const TickClock& clock, const KnownIds& known,
          store::ImportIssues& issues)
      : stage_(stage), begin_clock_(clock), end_clock_(clock), known_(known), issues_(issues) {}

  // `slots` holds `count` slots; returns how many were used: a pair may be cut at the end.
  void Run(const std::byte* slots, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const auto record = LoadLe<Record>(slots + i * sizeof(Record));
      const RecordKind kind = capture::KindOf(record);
      if (half_memory_) {
        TakeMemory(memory_head_, LoadLe<MemoryTail>(slots + i * sizeof(Record)));
        half_memory_ = false;
      } else if (IsRange(kind)) [[likely]] {
        TakeRange(record, kind);
      } else if (kind == RecordKind::kMemory) {
        std::memcpy(&memory_head_, &record, sizeof(memory_head_));
        half_memory_ = true;
      } else {
        TakeInstant(record, kind);
      }
    }
  }

  // Between runs that are not continuous half a pair is dropped.
  void Break() {
    if (half_memory_) issues_.Add(kMissing, "");
    half_memory_ = false;
  }

  void TakeRange(const Record& record, RecordKind kind) {
    const uint64_t ticks = capture::DurationTicks(record);
    const bool open = ticks == capture::kUnfinished;
    Node node;
    node.ts = begin_clock_.ToNs(record.ticks);
    node.end = open ? kOpenEnd : end_clock_.ToNs(record.ticks + ticks);
    if (node.end < node.ts) [[unlikely]]
      node.end = node.ts;  // ticks beyond 64 bits
    node.name = Name(record.name);
    node.args = Args(record.args);
    node.link = HasStack(kind) ? Known(record.link, known_.stacks) : record.link;
    node.sequence = record.sequence;
    node.kind = kind;
    node.domain = capture::DomainOf(record);
    if (kind == RecordKind::kCollectiveWork) {
      stage_.works.push_back(node);
    } else {
      stage_.nodes.push_back(node);
    }
  }

 private:
  void TakeInstant(const Record& record, RecordKind kind) {
    const int64_t ts = end_clock_.ToNs(record.ticks);
    switch (kind) {
      case RecordKind::kMark:
        stage_.marks.push_back(
            {ts, Name(record.name), Args(record.args), capture::DomainOf(record)});
        break;
      case RecordKind::kCounter:
        stage_.counters.push_back(
            {ts, Name(record.name), std::bit_cast<double>(ArgsAndLink(record))});
        break;
      case RecordKind::kFlowOut:
      case RecordKind::kFlowIn:
        stage_.flows.push_back(
            {ts, ArgsAndLink(record), kNoNode, Name(record.name), kind == RecordKind::kFlowOut});
        break;
      case RecordKind::kSpanBegin:
      case RecordKind::kSpanEnd:
        stage_.spans.push_back({ts, LinkAndSequence(record), Name(record.name), Args(record.args),
                                capture::DomainOf(record), kind == RecordKind::kSpanBegin});
        break;
      case RecordKind::kThreadUse:
        stage_.uses.push_back({.ts = ts,
                               .thread_ns = capture::DurationTicks(record),
                               .wait_ns = static_cast<int64_t>(ArgsAndLink(record)),
                               .thread_switches = static_cast<uint32_t>(record.sequence)});
        break;
      case RecordKind::kProcessUse:
        if (stage_.uses.empty() || stage_.uses.back().ts != ts) break;
        TakeProcess(record, stage_.uses.back());
        break;
      default:
        issues_.Add(kUnknownRecord, "");
        break;
    }
  }

  static void TakeProcess(const Record& record, UseInstant& use) {
    use.process_ns = capture::DurationTicks(record);
    use.process_switches = static_cast<uint32_t>(record.sequence);
    const uint64_t faults = ArgsAndLink(record);
    use.are_faults_known = faults != UINT64_MAX;  // all ones in captures of older recorders
    use.thread_faults = static_cast<uint32_t>(faults);
    use.process_faults = static_cast<uint32_t>(faults >> 32U);
  }

  void TakeMemory(const MemoryHead& head, const MemoryTail& tail) {
    MemoryInstant event{};
    event.ts = end_clock_.ToNs(head.ticks);
    event.size_bytes = head.size_bytes;
    event.pointer = head.pointer;
    event.tail = tail;
    event.node = kNoNode;
    const uint64_t device = head.dur_kind & capture::kDurationMask;
    event.device_type = static_cast<int16_t>((device >> 8U) & 0xffU);
    event.device_index = static_cast<int16_t>(device & 0xffU);
    stage_.memory.push_back(event);
  }

  static bool HasStack(RecordKind kind) {
    return kind != RecordKind::kBackwardNode && kind != RecordKind::kCollectiveWork;
  }
  // Unknown names are counted with the nodes that have them (import.cc).
  uint32_t Name(uint32_t id) const { return std::min(id, known_.names); }
  uint32_t Args(uint32_t id) { return Known(id, known_.args); }
  uint32_t Known(uint32_t id, uint32_t count) {
    if (id < count || id == 0) [[likely]]
      return id;
    issues_.Add(kUnknownId, "");
    return 0;
  }

  ThreadStage& stage_;
  TickClock::Cursor begin_clock_;
  TickClock::Cursor end_clock_;
  const KnownIds known_;
  store::ImportIssues& issues_;
  MemoryHead memory_head_{};
  bool half_memory_ = false;
};

}  // namespace

TrackKind TrackOf(RecordKind kind) { return capture::InfoOf(kind).track; }

ProcessorUse UseBetween(const ThreadStage& stage, int64_t begin, int64_t end) {
  const auto at = [&](int64_t moment) -> const UseInstant* {
    const auto next =
        std::upper_bound(stage.uses.begin(), stage.uses.end(), moment,
                         [](int64_t ts, const UseInstant& use) { return ts < use.ts; });
    return next == stage.uses.begin() ? nullptr : &*std::prev(next);
  };
  if (stage.has_gaps || end == kOpenEnd) return {};
  const UseInstant* first = at(begin);
  const UseInstant* last = at(end);
  if (first == nullptr || first == last) return {};
  const bool is_wait_known = first->wait_ns >= 0 && last->wait_ns >= first->wait_ns;
  const bool are_faults_known = first->are_faults_known && last->are_faults_known;
  const auto ns = [](uint64_t from, uint64_t to) {
    return static_cast<int64_t>((to - from) & capture::kDurationMask);
  };
  const auto faults = [&](uint32_t UseInstant::* which) {
    return are_faults_known ? int64_t{last->*which - first->*which} : -1;
  };
  return {.thread_ns = ns(first->thread_ns, last->thread_ns),
          .process_ns = ns(first->process_ns, last->process_ns),
          .wait_ns = is_wait_known ? last->wait_ns - first->wait_ns : -1,
          .thread_switches = last->thread_switches - first->thread_switches,
          .process_switches = last->process_switches - first->process_switches,
          .thread_faults = faults(&UseInstant::thread_faults),
          .process_faults = faults(&UseInstant::process_faults)};
}

ThreadStage Decode(const ThreadSlots& slots, const TickClock& clock, const KnownIds& known,
                   store::ImportIssues& issues) {
  ThreadStage stage;
  stage.thread_index = slots.thread_index;
  stage.has_gaps = slots.dropped > 0 || slots.missing > 0;
  size_t total = slots.open.size();
  for (const SlotRun& run : slots.runs) total += run.count;
  stage.nodes.reserve(total);
  Decoder decoder(stage, clock, known, issues);
  uint64_t next = slots.runs.empty() ? 0 : slots.runs[0].first_slot;
  for (const SlotRun& run : slots.runs) {
    if (run.first_slot != next) decoder.Break();
    decoder.Run(run.slots, run.count);
    next = run.first_slot + run.count;
  }
  decoder.Break();
  // Innermost first, like records of ranges that ended.
  for (size_t i = slots.open.size(); i-- > 0;) {
    const RecordKind kind = capture::KindOf(slots.open[i]);
    if (IsRange(kind)) decoder.TakeRange(slots.open[i], kind);
  }
  return stage;
}

}  // namespace sonde::importers::capture_import

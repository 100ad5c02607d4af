#include <algorithm>
#include <map>
#include <utility>

#include "compare/difference/work.h"
#include "compare/frame/sort_runs.h"

namespace sonde::compare {
namespace {

using recipes::Interval;

// A range of the host in the order of time.
struct HostRange {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int32_t module_range = kNone;
  int32_t op = kNone;
  bool is_collection = false;
};

// The thread whose steps count, else the one with the most time in operators.
int32_t MainThread(const Side& side) {
  std::map<int32_t, int64_t> ns_by_thread;
  for (const Op& op : side.ops) {
    if (op.is_step) return op.thread;
    if (op.parent == kNone) ns_by_thread[op.thread] += op.DurationNs();
  }
  int32_t main = kNone;
  int64_t most_ns = -1;
  for (const auto& [thread, ns] : ns_by_thread) {
    if (ns > most_ns) main = thread;
    most_ns = std::max(most_ns, ns);
  }
  return main;
}

std::vector<HostRange> HostRanges(const Side& side) {
  std::vector<HostRange> ranges;
  const int32_t main = MainThread(side);
  for (size_t i = 0; i < side.ops.size(); ++i) {
    const Op& op = side.ops[i];
    if (op.is_step || op.thread != main) continue;
    ranges.push_back({.begin_ns = op.begin_ns, .end_ns = op.end_ns, .op = static_cast<int32_t>(i)});
  }
  for (size_t i = 0; i < side.modules.size(); ++i) {
    const PythonRange& module = side.modules[i];
    ranges.push_back({.begin_ns = module.begin_ns,
                      .end_ns = module.end_ns,
                      .module_range = static_cast<int32_t>(i)});
  }
  for (const PythonRange& collection : side.collections) {
    ranges.push_back(
        {.begin_ns = collection.begin_ns, .end_ns = collection.end_ns, .is_collection = true});
  }
  SortRuns(ranges, [](const HostRange& a, const HostRange& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  return ranges;
}

struct IdleInterval {
  size_t step = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// The parts of the steps that no interval covers.
std::vector<IdleInterval> IdleIn(const std::vector<Window>& steps, std::vector<Interval> busy) {
  std::vector<IdleInterval> idle;
  const std::vector<Interval> merged = recipes::Merge(std::move(busy));
  for (size_t step = 0; step < steps.size(); ++step) {
    const Window& window = steps[step];
    int64_t at_ns = window.FromNs();
    auto next = std::lower_bound(
        merged.begin(), merged.end(), at_ns,
        [](const Interval& interval, int64_t moment) { return interval.end_ns <= moment; });
    for (; next != merged.end() && next->start_ns < window.OverNs(); ++next) {
      if (next->start_ns > at_ns) idle.push_back({step, at_ns, next->start_ns});
      at_ns = std::max(at_ns, next->end_ns);
    }
    if (window.OverNs() > at_ns) idle.push_back({step, at_ns, window.OverNs()});
  }
  return idle;
}

// Walks over the ranges and gives each idle moment to the innermost that is open.
class Walker {
 public:
  explicit Walker(std::vector<IdleInterval> idle) : idle_(std::move(idle)) {}

  std::vector<IdlePiece> Run(const std::vector<HostRange>& ranges) {
    for (const HostRange& range : ranges) {
      CloseUntil(range.begin_ns);
      Emit(range.begin_ns);
      Open(range);
    }
    CloseUntil(std::numeric_limits<int64_t>::max());
    Emit(std::numeric_limits<int64_t>::max());
    return std::move(pieces_);
  }

 private:
  struct OpenRange {
    int64_t end_ns = 0;
    IdlePiece place;
  };

  void CloseUntil(int64_t ts) {
    while (!open_.empty() && open_.back().end_ns <= ts) {
      Emit(open_.back().end_ns);
      open_.pop_back();
    }
  }

  void Open(const HostRange& range) {
    IdlePiece place = open_.empty() ? IdlePiece() : open_.back().place;
    place.is_collection = range.is_collection;
    if (range.module_range != kNone) {
      place.module_range = range.module_range;
      place.op = place.inner = kNone;
    } else if (range.op != kNone) {
      if (place.op == kNone) place.op = range.op;
      place.inner = range.op;
    }
    open_.push_back({range.end_ns, place});
  }

  // Idle time before `until` that was not returned yet.
  void Emit(int64_t until) {
    for (; next_ < idle_.size() && idle_[next_].begin_ns < until; ++next_) {
      IdleInterval& one = idle_[next_];
      IdlePiece piece = open_.empty() ? IdlePiece() : open_.back().place;
      piece.step = one.step;
      piece.ns = std::min(one.end_ns, until) - one.begin_ns;
      if (piece.ns > 0) pieces_.push_back(piece);
      if (one.end_ns > until) {
        one.begin_ns = until;
        return;
      }
    }
  }

  std::vector<IdleInterval> idle_;
  size_t next_ = 0;
  std::vector<OpenRange> open_;
  std::vector<IdlePiece> pieces_;
};

}  // namespace

Busy BusyOf(const Side& side) {
  Busy busy;
  if (side.kind != SideKind::kCpu) {
    busy.computing = side.overlap.computing;
    busy.communication = side.overlap.not_overlapped;
    return busy;
  }
  // An operator's own time surrounds its calls: the range of the operator is busy.
  for (const Kernel& kernel : side.kernels) {
    if (kernel.core == kNone || kernel.is_communication || kernel.op == kNone) continue;
    const Op& op = side.OpAt(kernel.op);
    busy.computing.push_back({op.begin_ns, op.end_ns});
  }
  busy.computing = recipes::Merge(std::move(busy.computing));
  busy.communication =
      recipes::Subtract(recipes::Merge(side.overlap.not_overlapped), busy.computing);
  return busy;
}

std::vector<IdlePiece> FindIdlePieces(const Side& side, const std::vector<Window>& steps) {
  // Of a device of which nothing was recorded nobody knows when it idled.
  if (side.kernels.empty() && side.communications.empty()) return {};
  Busy busy = BusyOf(side);
  std::vector<Interval>& all = busy.computing;
  all.insert(all.end(), busy.communication.begin(), busy.communication.end());
  return Walker(IdleIn(steps, std::move(all))).Run(HostRanges(side));
}

}  // namespace sonde::compare

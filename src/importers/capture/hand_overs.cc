#include "importers/capture/hand_overs.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "capture/mindspore_names.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;

constexpr int kMostHandOvers = 16;  // of one task, from thread to thread
constexpr int64_t kLatestNs = 100'000'000;
constexpr uint64_t kPairBit = uint64_t{1} << 63;  // the recorder's own flows have small numbers

struct Place {
  size_t stage = 0;
  int32_t node = kNoNode;
  int64_t queued = 0;  // when the task was handed over there
};

// The sets of inputs that a thread has named, by moment (capture::kInputsOf).
class NamedInputs {
 public:
  // Takes them out of the marks, which are the user's otherwise.
  explicit NamedInputs(CaptureTrace& trace) : trace_(trace), by_stage_(trace.stages.size()) {
    for (size_t i = 0; i < trace.stages.size(); ++i) {
      std::vector<MarkInstant>& marks = trace.stages[i].marks;
      const auto named = std::stable_partition(marks.begin(), marks.end(), [&](const auto& mark) {
        return !trace.dictionary.Name(mark.name).starts_with(capture::kInputsOf);
      });
      by_stage_[i].assign(named, marks.end());
      marks.erase(named, marks.end());
      std::stable_sort(by_stage_[i].begin(), by_stage_[i].end(),
                       [](const auto& a, const auto& b) { return a.ts < b.ts; });
    }
  }

  bool empty() const {
    return std::all_of(by_stage_.begin(), by_stage_.end(), [](const auto& m) { return m.empty(); });
  }

  // Of the operator whose task was queued (or which ran) at this place. MindSpore reports the
  // inputs next, before the range that queued it ends. 0 none.
  uint32_t Of(const Node& op, const Place& place) const {
    if (place.node == kNoNode) return 0;
    const std::vector<MarkInstant>& marks = by_stage_[place.stage];
    const Node& call = trace_.NodeOf(trace_.stages[place.stage], place.node);
    const std::string_view type = capture::MindsporeOperatorType(trace_.dictionary.Name(op.name));
    const auto behind = [](const MarkInstant& mark, int64_t ts) { return mark.ts < ts; };
    auto mark = std::lower_bound(marks.begin(), marks.end(), place.queued, behind);
    for (; mark != marks.end() && mark->ts <= call.end; ++mark) {
      const std::string_view name = trace_.dictionary.Name(mark->name);
      if (name.substr(capture::kInputsOf.size()) == type) return mark->args;
    }
    return 0;
  }

 private:
  const CaptureTrace& trace_;
  std::vector<std::vector<MarkInstant>> by_stage_;
};

// Each queue of MindSpore counts its tasks by itself, so that several tasks have one number. Ends
// of one number are paired in the order of time, as tasks of a queue run, and each pair gets a
// number of its own. MindSpore records the hand-over after it queued the task: the task may run
// before.
class Pairs {
 public:
  void Number(CaptureTrace& trace) {
    std::vector<End> ends;
    for (size_t i = 0; i < trace.stages.size(); ++i) {
      for (FlowEnd& end : trace.stages[i].flows) {
        if (trace.dictionary.Name(end.name) == capture::kHandOver) ends.push_back({&end, i});
      }
    }
    std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
      return std::pair(a.end->key, a.end->ts) < std::pair(b.end->key, b.end->ts);
    });
    uint64_t key = 0;
    for (const End& end : ends) {
      if (end.end->key != key) open_.clear();
      key = end.end->key;
      Take(end);
    }
  }

 private:
  struct End {
    FlowEnd* end;
    size_t stage;
  };

  void Take(const End& end) {
    const auto other = std::find_if(open_.begin(), open_.end(), [&end](const End& before) {
      const bool late = end.end->out && end.end->ts - before.end->ts > kLatestNs;
      return before.end->out != end.end->out && before.stage != end.stage && !late;
    });
    if (other == open_.end()) {
      end.end->key = next_++;
      open_.push_back(end);
    } else {
      end.end->key = other->end->key;
      open_.erase(other);
    }
  }

  std::vector<End> open_;  // of the current number
  uint64_t next_ = kPairBit;
};

class Origins {
 public:
  explicit Origins(const CaptureTrace& trace) : trace_(trace), in_(trace.stages.size()) {
    for (size_t i = 0; i < trace.stages.size(); ++i) {
      for (const FlowEnd& end : trace.stages[i].flows) {
        if (end.node == kNoNode || trace.dictionary.Name(end.name) != capture::kHandOver) continue;
        if (end.out) {
          out_.emplace(end.key, Place{i, end.node, end.ts});
        } else {
          in_[i].emplace(end.node, end.key);
        }
      }
    }
  }

  bool empty() const { return out_.empty(); }

  // The ranges from which this operator's task was queued, from the last to the first; none where
  // its own thread did so.
  std::vector<Place> Of(Place place) const {
    std::vector<Place> found;
    for (int i = 0; i < kMostHandOvers; ++i) {
      const std::optional<Place> before = Before(found.empty() ? place : found.back());
      if (!before) break;
      found.push_back(*before);
    }
    return found;
  }

 private:
  // The place from which the innermost task around a range was queued.
  std::optional<Place> Before(Place place) const {
    const ThreadStage& stage = trace_.stages[place.stage];
    for (int32_t node = place.node; node != kNoNode; node = trace_.NodeOf(stage, node).parent) {
      const auto in = in_[place.stage].find(node);
      if (in == in_[place.stage].end()) continue;
      const auto out = out_.find(in->second);
      if (out == out_.end()) return std::nullopt;
      return out->second;
    }
    return std::nullopt;
  }

  const CaptureTrace& trace_;
  std::unordered_map<uint64_t, Place> out_;
  std::vector<std::unordered_map<int32_t, uint64_t>> in_;  // by the range that it entered
};

// Memory of a thread: from the ranges in which it was taken or released to the operator that the
// same task runs.
void GiveMemoryToOperators(ThreadStage& stage) {
  std::vector<int32_t> operators(stage.nodes.size(), kNoNode);  // the first directly below
  for (size_t n = 0; n < stage.nodes.size(); ++n) {
    const Node& node = stage.nodes[n];
    if (node.kind != RecordKind::kOp || node.parent == kNoNode) continue;
    int32_t& first = operators[static_cast<size_t>(node.parent)];
    if (first == kNoNode) first = static_cast<int32_t>(n);
  }
  for (MemoryInstant& memory : stage.memory) {
    for (int32_t at = memory.node; at != kNoNode;) {
      const Node& node = stage.nodes[static_cast<size_t>(at)];
      if (node.kind == RecordKind::kOp) break;
      if (const int32_t op = operators[static_cast<size_t>(at)]; op != kNoNode) {
        memory.node = op;
        break;
      }
      at = node.parent;
    }
  }
}

}  // namespace

void ResolveHandOvers(CaptureTrace& trace) {
  Pairs().Number(trace);
  const NamedInputs inputs(trace);
  const Origins origins(trace);
  if (origins.empty()) return;
  for (size_t i = 0; i < trace.stages.size(); ++i) {
    GiveMemoryToOperators(trace.stages[i]);
    std::vector<Node>& nodes = trace.stages[i].nodes;
    for (size_t n = 0; n < nodes.size(); ++n) {
      Node& node = nodes[n];
      if (node.kind != RecordKind::kOp) continue;
      const std::vector<Place> places = origins.Of({i, static_cast<int32_t>(n)});
      if (!inputs.empty()) node.args = inputs.Of(node, {i, node.parent, node.ts});
      for (size_t p = 0; p < places.size() && node.args == 0 && !inputs.empty(); ++p) {
        node.args = inputs.Of(node, places[p]);
      }
      if (places.empty()) continue;
      const Node& call = trace.NodeOf(trace.stages[places.back().stage], places.back().node);
      if (node.module == 0) node.module = call.module;
      if (node.link == 0) node.link = call.link;
      trace.launches.emplace_back(node.slice_id, call.slice_id);
    }
  }
  std::sort(trace.launches.begin(), trace.launches.end());
}

}  // namespace sonde::importers::capture_import

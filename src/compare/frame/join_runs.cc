// Several runs as one side.
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "compare/frame/side.h"

namespace sonde::compare {
namespace {

constexpr int64_t kBetweenNs = 1'000'000'000;

// Moves a run behind the others, and gives its texts and rows their numbers.
class Joiner {
 public:
  explicit Joiner(Side first) : all_(std::move(first)) {
    CountAsStep(all_);
    for (size_t i = 0; i < all_.names.size(); ++i) {
      numbers_.emplace(all_.names[i], static_cast<int32_t>(i));
    }
    last_ns_ = LastOf(all_);
  }

  void Add(Side run) {
    CountAsStep(run);
    ++all_.runs;
    Renumber(run);
    Move(run);
    last_ns_ = LastOf(run);
    Append(run);
  }

  Side Take() { return std::move(all_); }

 private:
  // A run without steps is one.
  static void CountAsStep(Side& run) {
    if (!run.steps.empty() || run.IsEmpty()) return;
    run.steps.push_back(
        {.step_id = 0, .begin_ns = FirstOf(run), .end_ns = LastOf(run), .devices = run.devices});
  }

  static int64_t FirstOf(const Side& side) {
    int64_t first = std::numeric_limits<int64_t>::max();
    ForEachMoment(side, [&](int64_t ns) { first = std::min(first, ns); });
    return first;
  }
  static int64_t LastOf(const Side& side) {
    int64_t last = std::numeric_limits<int64_t>::min();
    ForEachMoment(side, [&](int64_t ns) { last = std::max(last, ns); });
    for (const Kernel& kernel : side.kernels) last = std::max(last, kernel.EndNs());
    return last;
  }

  // Begins and ends of everything; `side` may be const.
  template <class AnySide, class Visit>
  static void ForEachMoment(AnySide& side, const Visit& visit) {
    for (auto* list : {&side.steps}) {
      for (auto& one : *list) (visit(one.begin_ns), visit(one.end_ns));
    }
    for (auto& one : side.ops) (visit(one.begin_ns), visit(one.end_ns));
    for (auto& one : side.kernels) {
      visit(one.begin_ns);
      if (one.launch_ns != kNone) visit(one.launch_ns);
    }
    for (auto& one : side.communications) (visit(one.begin_ns), visit(one.end_ns));
    for (auto& one : side.communication_tasks) (visit(one.begin_ns), visit(one.end_ns));
    for (auto* list : {&side.blocks, &side.blocks_without_call}) {
      for (auto& one : *list) {
        visit(one.asked_ns);
        visit(one.alloc_ns);
        if (one.free_ns != kNone) visit(one.free_ns);
      }
    }
    for (auto* list : {&side.modules, &side.functions, &side.collections, &side.calls}) {
      for (auto& one : *list) (visit(one.begin_ns), visit(one.end_ns));
    }
    for (auto& [forward, backward] : side.backward) (visit(forward), visit(backward));
    for (auto* list : {&side.overlap.computing, &side.overlap.communication,
                       &side.overlap.not_overlapped, &side.overlap.free}) {
      for (auto& one : *list) (visit(one.start_ns), visit(one.end_ns));
    }
  }

  void Move(Side& run) const {
    const int64_t by = last_ns_ + kBetweenNs - FirstOf(run);
    ForEachMoment(run, [by](int64_t& ns) { ns += by; });
  }

  int32_t NumberOf(const std::string& text) {
    const auto [found, is_new] =
        numbers_.try_emplace(text, static_cast<int32_t>(all_.names.size()));
    if (is_new) all_.names.push_back(text);
    return found->second;
  }

  void Renumber(Side& run) {
    std::vector<int32_t> number_of;
    for (const std::string& text : run.names) number_of.push_back(NumberOf(text));
    const auto name = [&](int32_t& id) {
      if (id >= 0) id = number_of[static_cast<size_t>(id)];
    };
    const auto behind = [](int32_t& index, size_t count) {
      if (index >= 0) index += static_cast<int32_t>(count);
    };
    for (Op& op : run.ops) {
      for (int32_t* id : {&op.name, &op.shapes, &op.types}) name(*id);
      behind(op.stack, all_.stacks.size());
      for (int32_t* index : {&op.parent, &op.first_child, &op.last_child, &op.next_sibling}) {
        behind(*index, all_.ops.size());
      }
      // The thread of the backward pass has one number.
      if (op.thread == run.backward_thread) {
        op.thread = all_.backward_thread;
      } else if (op.thread == all_.backward_thread) {
        op.thread = run.backward_thread;
      }
    }
    for (int32_t& root : run.roots) behind(root, all_.ops.size());
    for (Kernel& kernel : run.kernels) {
      for (int32_t* id : {&kernel.name, &kernel.type, &kernel.core, &kernel.task_type,
                          &kernel.shapes, &kernel.types}) {
        name(*id);
      }
      behind(kernel.op, all_.ops.size());
    }
    for (CommunicationTask& task : run.communication_tasks) name(task.name);
    for (CommunicationOp& op : run.communications) {
      name(op.name);
      name(op.type);
      op.group += all_.groups.size();
      for (uint32_t& task : op.tasks) {
        task += static_cast<uint32_t>(all_.communication_tasks.size());
      }
    }
    for (auto* list : {&run.blocks, &run.blocks_without_call}) {
      for (MemoryBlock& block : *list) {
        name(block.owner);
        behind(block.op, all_.ops.size());
      }
    }
    for (auto* list : {&run.modules, &run.functions, &run.collections, &run.calls}) {
      for (PythonRange& range : *list) name(range.name);
    }
    for (Window& step : run.steps) step.run = all_.runs - 1;
  }

  // Indices of rows by operator: begins are those of the run, behind the others.
  static void AppendIndex(size_t rows, const std::vector<uint32_t>& by_op,
                          const std::vector<uint32_t>& begins, std::vector<uint32_t>& all_by_op,
                          std::vector<uint32_t>& all_begins) {
    const auto before = static_cast<uint32_t>(all_by_op.size());
    for (const uint32_t row : by_op) all_by_op.push_back(row + static_cast<uint32_t>(rows));
    for (size_t i = all_begins.empty() ? 0 : 1; i < begins.size(); ++i) {
      all_begins.push_back(begins[i] + before);
    }
  }

  void Append(Side& run) {
    AppendIndex(all_.kernels.size(), run.kernels_by_op, run.kernels_begin, all_.kernels_by_op,
                all_.kernels_begin);
    AppendIndex(all_.blocks.size(), run.blocks_by_op, run.blocks_begin, all_.blocks_by_op,
                all_.blocks_begin);
    const auto append = [&](auto Side::* list) {
      std::move((run.*list).begin(), (run.*list).end(), std::back_inserter(all_.*list));
    };
    append(&Side::steps);
    append(&Side::stacks);
    append(&Side::ops);
    append(&Side::roots);
    append(&Side::kernels);
    append(&Side::communications);
    append(&Side::communication_tasks);
    append(&Side::groups);
    append(&Side::blocks);
    append(&Side::blocks_without_call);
    append(&Side::modules);
    append(&Side::functions);
    append(&Side::collections);
    append(&Side::calls);
    append(&Side::backward);
    append(&Side::issues);
    for (auto member : {&recipes::Overlap::computing, &recipes::Overlap::communication,
                        &recipes::Overlap::not_overlapped, &recipes::Overlap::free}) {
      auto& from = run.overlap.*member;
      std::move(from.begin(), from.end(), std::back_inserter(all_.overlap.*member));
    }
    for (ServingValues& values : run.serving) {
      const auto same =
          std::find_if(all_.serving.begin(), all_.serving.end(),
                       [&](const ServingValues& one) { return one.measure == values.measure; });
      if (same == all_.serving.end()) {
        all_.serving.push_back(std::move(values));
      } else {
        same->values.insert(same->values.end(), values.values.begin(), values.values.end());
      }
    }
    all_.reserved_bytes = std::max(all_.reserved_bytes, run.reserved_bytes);
    all_.has_counters = all_.has_counters || run.has_counters;
    all_.has_kernel_shapes = all_.has_kernel_shapes || run.has_kernel_shapes;
  }

  Side all_;
  std::unordered_map<std::string, int32_t> numbers_;
  int64_t last_ns_ = 0;
};

}  // namespace

Side JoinRuns(std::vector<Side> runs) {
  if (runs.size() == 1) return std::move(runs.front());
  Joiner joiner(std::move(runs.front()));
  for (size_t i = 1; i < runs.size(); ++i) joiner.Add(std::move(runs[i]));
  return joiner.Take();
}

}  // namespace sonde::compare

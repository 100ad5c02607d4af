// Device tasks of a machine without an accelerator: its CPU is the device.
#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"
#include "capture/mindspore_names.h"
#include "importers/capture/kernel_shapes.h"
#include "importers/capture/trace.h"
#include "importers/common/own_time.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;
using store::DeviceTaskRow;
using store::TaskKindRow;

struct Task {
  int64_t ts;
  int64_t dur;
  int32_t slice_id;
  int32_t kind_id;
  int32_t track_id;
};

// Pairs of numbers to consecutive numbers; open addressing, since each task needs a look-up.
class PairNumbers {
 public:
  // The number of the pair, and whether it is new.
  std::pair<int32_t, bool> Find(uint32_t a, int32_t b) {
    const uint64_t key = (uint64_t{a} << 32U) | static_cast<uint32_t>(b);
    if ((count_ + 1) * 2 > slots_.size()) Grow();
    Slot& slot = At(key);
    if (slot.number >= 0) return {slot.number, false};
    slot = {key, static_cast<int32_t>(count_++)};
    return {slot.number, true};
  }

 private:
  struct Slot {
    uint64_t key = 0;
    int32_t number = -1;
  };
  Slot& At(uint64_t key) {
    size_t i = base::HashInt(key) & (slots_.size() - 1);
    while (slots_[i].number >= 0 && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number >= 0) At(slot.key) = slot;
    }
  }
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  size_t count_ = 0;
};

// "aten::add" -> "add": operators of one library are of one type whatever its prefix; of
// MindSpore's names the scope and the number go.
std::string_view OpType(std::string_view name) {
  const size_t colon = name.rfind("::");
  return capture::MindsporeOperatorType(colon == std::string_view::npos ? name
                                                                        : name.substr(colon + 2));
}

// Torch names the phases of its compiler so. What the compiler runs in them (fake tensors, trials
// of kernels) is its own work, and none of the program's.
constexpr std::string_view kCompilerSuffix = " (dynamo_timed)";

std::vector<bool> NamesOfCompiler(const Dictionary& dictionary) {
  std::vector<bool> found(dictionary.names.size());
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = dictionary.names[i].ends_with(kCompilerSuffix);
  }
  return found;
}

class Collector {
 public:
  Collector(CaptureTrace& trace, const ArgumentTable& arguments)
      : trace_(trace),
        arguments_(arguments),
        cpu_(trace.names.Intern("CPU")),
        of_compiler_(NamesOfCompiler(trace.dictionary)) {
    shapes_.Read(trace.dictionary, trace.issues);
  }

  // The tasks of one thread, in the order of begin; nothing where the thread ran no op.
  void TakeThread(const ThreadStage& stage) {
    const size_t first = tasks_.size();
    // Ranges that do not nest are on tracks of their own.
    std::vector<OwnTime<const Node*>> own(stage.tracks.size());
    const auto task = [this](int64_t ts, int64_t dur, const Node* node) {
      tasks_.push_back({ts, dur, node->slice_id, KindOf(*node), track_});
    };
    for (const Node& node : stage.nodes) {
      const bool is_compiler = IsCompiler(node);
      if (node.kind != RecordKind::kOp && !is_compiler) continue;
      if (node.end == kOpenEnd && !is_compiler) continue;
      const bool is_work = !is_compiler && !trace_.IsSharedMemoryCollective(node);
      const int64_t end = node.end == kOpenEnd ? std::max(trace_.end_ns, node.ts) : node.end;
      own[node.track].Take(node.ts, end, &node, is_work, task);
    }
    for (OwnTime<const Node*>& track : own) track.End(task);
    if (tasks_.size() == first) return;
    streams_.push_back(stage.thread_id);
    ++track_;
    const auto before = [](const Task& a, const Task& b) { return a.ts < b.ts; };
    const auto middle = tasks_.begin() + static_cast<std::ptrdiff_t>(first);
    if (!std::is_sorted(middle, tasks_.end(), before)) {
      std::stable_sort(middle, tasks_.end(), before);
    }
    std::inplace_merge(tasks_.begin(), middle, tasks_.end(), before);
  }

  Status Write(const std::vector<StepRange>& steps, store::Transaction& transaction) {
    SONDE_RETURN_IF_ERROR(WriteTracks(transaction));
    SONDE_ASSIGN_OR_RETURN(auto kinds, store::TableWriter<TaskKindRow>::Open(transaction));
    for (const TaskKindRow& kind : kinds_) kinds.Append(kind);
    SONDE_RETURN_IF_ERROR(kinds.Close());
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<DeviceTaskRow>::Open(transaction));
    writer.Reserve(tasks_.size());
    StepCursor step(steps);
    int64_t end_before = tasks_.empty() ? 0 : tasks_[0].ts;
    int32_t task_id = 0;
    for (const Task& task : tasks_) {
      DeviceTaskRow row;
      row.task_id = task_id++;
      row.slice_id = task.slice_id;
      row.track_id = trace_.tracks + task.track_id;
      row.ts = task.ts;
      row.dur = task.dur;
      row.wait_ns = std::max<int64_t>(0, task.ts - end_before);
      row.kind_id = task.kind_id;
      row.launch_slice_id = trace_.LaunchOf(task.slice_id);
      row.step_id = step.At(task.ts, streams_[static_cast<size_t>(task.track_id)]);
      writer.Append(row);
      end_before = task.ts + task.dur;
    }
    trace_.tracks += track_;
    return writer.Close();
  }

  size_t size() const { return tasks_.size(); }

 private:
  bool IsCompiler(const Node& node) const {
    return node.kind == RecordKind::kUserScope && node.name < of_compiler_.size() &&
           of_compiler_[node.name];
  }

  int32_t KindOf(const Node& node) {
    const int32_t signature = arguments_.SignatureId(node.args);
    const auto [number, is_new] = numbers_.Find(node.name, signature);
    if (is_new) {
      TaskKindRow row;
      row.kind_id = number;
      row.name = trace_.NameId(node.name);
      row.op_type = row.name == store::kNone
                        ? store::kNone
                        : trace_.names.Intern(OpType(trace_.names.Text(row.name)));
      row.core = cpu_;
      row.task_type = cpu_;
      if (signature >= 0) {
        row.input_shapes = arguments_.Signature(signature).input_shapes;
        row.input_types = arguments_.Signature(signature).input_types;
      } else if (row.name != store::kNone) {
        SetShapes(shapes_.Of(trace_.names.Text(row.name)), &row);
      }
      kinds_.push_back(row);
    }
    return number;
  }

  void SetShapes(const KernelShape* shape, TaskKindRow* row) {
    if (shape == nullptr) return;
    const auto name = [this](const std::string& text) {
      return text.empty() ? store::kNone : trace_.names.Intern(text);
    };
    row->input_shapes = name(shape->inputs.shapes);
    row->input_types = name(shape->inputs.types);
    row->input_formats = name(shape->inputs.formats);
    row->output_shapes = name(shape->outputs.shapes);
    row->output_types = name(shape->outputs.types);
    row->output_formats = name(shape->outputs.formats);
  }

  Status WriteTracks(store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::TrackRow>::Open(transaction));
    const int32_t kind = trace_.names.Intern(capture::TextOf(TrackKind::kStream));
    for (int32_t i = 0; i < track_; ++i) {
      store::TrackRow row;
      row.track_id = trace_.tracks + i;
      row.kind = kind;
      row.name = trace_.names.Intern(base::Concat("Stream ", std::to_string(i)));
      row.process_id = kProcessId;
      row.thread_id = streams_[static_cast<size_t>(i)];
      row.stream_id = i;
      row.sort_index = row.track_id;
      writer.Append(row);
    }
    return writer.Close();
  }

  CaptureTrace& trace_;
  const ArgumentTable& arguments_;
  int32_t cpu_;
  std::vector<bool> of_compiler_;  // by name id
  KernelShapes shapes_;
  std::vector<Task> tasks_;
  std::vector<TaskKindRow> kinds_;
  std::vector<int32_t> streams_;  // thread of each stream
  PairNumbers numbers_;
  int32_t track_ = 0;  // streams so far
};

}  // namespace

Result<int64_t> WriteCpuDeviceTasks(CaptureTrace& trace, const ArgumentTable& arguments,
                                    const std::vector<StepRange>& steps,
                                    store::Transaction& transaction) {
  Collector collector(trace, arguments);
  for (const ThreadStage& stage : trace.stages) collector.TakeThread(stage);
  SONDE_RETURN_IF_ERROR(collector.Write(steps, transaction));
  return static_cast<int64_t>(collector.size());
}

}  // namespace sonde::importers::capture_import

// Rows from the slices of the timeline.
#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"
#include "capture/mindspore_names.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend/groups.h"
#include "importers/ascend_text/captured.h"
#include "importers/ascend_text/issues.h"
#include "importers/ascend_text/text_trace.h"
#include "importers/mindspore/trace.h"
#include "importers/rows/number_table.h"
#include "importers/trace_events/flow_pairs.h"

namespace sonde::importers::text_import {
namespace {

using capture::NumberOf;
using capture::Scope;
using capture::TrackKind;
using trace_events::EventStage;
using trace_events::FlowEnd;
using trace_events::StagedSlice;
using trace_events::TrackEntry;

// Task types of the hardware that run kernels; all others move data or wait.
bool IsKernelType(std::string_view type) {
  for (const std::string_view kernel :
       {"AI_CORE", "AI_VECTOR_CORE", "AIV", "MIX_AIC", "MIX_AIV", "AI_CPU", "AICPU", "DSA_SQE",
        "KERNEL_AICORE", "KERNEL_AIVEC", "KERNEL_AICPU", "KERNEL_MIX_AIC", "KERNEL_MIX_AIV",
        "FFTS_PLUS", "AIV_SQE", "AIC_SQE"}) {
    if (type == kernel) return true;
  }
  return false;
}

constexpr std::string_view kStepPrefix = "ProfilerStep#";

// Two numbers of 32 bits as one.
int64_t Joined(int64_t a, int64_t b) {
  return static_cast<int64_t>((static_cast<uint64_t>(a) << 32U) | static_cast<uint32_t>(b));
}

class TimelineRows {
 public:
  TimelineRows(EventStage& stage, TextTrace& trace)
      : stage_(stage),
        trace_(trace),
        rows_(trace.rows),
        device_(trace.rows),
        op_category_(rows_.names.Find("cpu_op")),
        annotation_category_(rows_.names.Find("user_annotation")),
        kind_of_names_(rows_.pool()) {}

  void Run() {
    FindProcesses();
    for (const TrackEntry& track : stage_.tracks().tracks) {
      const auto kind =
          track.kind < 0 ? std::nullopt : capture::TrackKindOf(rows_.names.Text(track.kind));
      kinds_.push_back(kind.value_or(TrackKind::kSpan));  // slices without a further meaning
      trace_.has_module_counters |=
          track.is_counter && rows_.names.Text(track.name).starts_with("NPU Module ");
    }
    rows_.first_mark = static_cast<int32_t>(stage_.instants().size());
    Reserve();
    if (cpu_process_ >= 0) rows_.issues.Add(kLateTimes, rows_.source);
    base::SpillSteps steps(stage_.pool());
    for (int32_t id = 0; id < static_cast<int32_t>(stage_.slice_count()); ++id) {
      steps.Next();
      Take(id);
    }
    TakePlanes();
    Connect();
  }

 private:
  int32_t TrackId(int32_t place) const {
    return stage_.arrangement().track_ids[static_cast<size_t>(place)];
  }
  int32_t ProcessId(int32_t place) const {
    return place < 0 ? store::kNone : stage_.arrangement().process_ids[static_cast<size_t>(place)];
  }
  int64_t Number(int32_t id, CapturedArgument argument, int64_t fallback = -1) const {
    return stage_.Captured(id, argument).value_or(fallback);
  }
  int32_t Text(int32_t id, CapturedArgument argument) const {
    return static_cast<int32_t>(stage_.Captured(id, argument).value_or(store::kNone));
  }
  std::string_view TextView(int32_t id, CapturedArgument argument) const {
    const int32_t name = Text(id, argument);
    return name < 0 ? std::string_view() : rows_.names.Text(name);
  }

  // Numbers of layers hold those of their process: (pid << 10) | (layer << 5) | device.
  void FindProcesses() {
    auto& processes = stage_.tracks().processes;
    for (size_t i = 0; i < processes.size(); ++i) {
      if (processes[i].name < 0) continue;
      const std::string_view layer = rows_.names.Text(processes[i].name);
      const std::string_view label =
          processes[i].labels < 0 ? std::string_view() : rows_.names.Text(processes[i].labels);
      if (layer == "Python" || layer == "CPU OP") {
        trace_.process_id = ProcessId(static_cast<int32_t>(i));
        if (layer == "CPU OP") cpu_process_ = static_cast<int32_t>(i);
      } else if ((layer == "CANN" || label.starts_with("NPU")) && processes[i].number >= 1024) {
        processes[i].number >>= 10;
      }
    }
  }

  // Reserves the rows that grow with the trace: gradual growth would copy them.
  void Reserve() {
    std::array<size_t, capture::kTrackKinds.size()> counts = {};
    base::SpillSteps steps(stage_.pool());
    for (int32_t id = 0; id < static_cast<int32_t>(stage_.slice_count()); ++id) {
      steps.Next();
      const StagedSlice& slice = stage_.Slice(id);
      const TrackKind kind = kinds_[static_cast<size_t>(slice.track)];
      if (kind != TrackKind::kThread || IsOperator(slice)) ++counts[static_cast<size_t>(kind)];
    }
    const auto count = [&](TrackKind kind) { return counts[static_cast<size_t>(kind)]; };
    rows_.ops.reserve(count(TrackKind::kThread) + count(TrackKind::kModule));
    rows_.api_calls.reserve(count(TrackKind::kApi));
    rows_.tasks.reserve(count(TrackKind::kStream));
    trace_.tasks.Reserve(count(TrackKind::kStream));
  }

  bool IsOperator(const StagedSlice& slice) const {
    return slice.category >= 0 &&
           (slice.category == op_category_ || slice.category == annotation_category_);
  }

  void Take(int32_t id) {
    const StagedSlice& slice = stage_.Slice(id);
    const TrackEntry& track = stage_.TrackOf(slice);
    switch (kinds_[static_cast<size_t>(slice.track)]) {
      case TrackKind::kThread:
        return track.process == cpu_process_ ? TakeCpuOp(id, slice) : TakeThread(id, slice);
      case TrackKind::kModule:
        rows_.ops.push_back({.slice_id = id, .scope = NumberOf(Scope::kModule)});
        break;
      case TrackKind::kApi:
        return TakeCall(id);
      case TrackKind::kStream:
        return TakeTask(id, slice, track);
      case TrackKind::kCommunicationGroup:
        return TakeOperation(id, slice, track);
      case TrackKind::kCommunicationPlane:
        planes_.push_back(id);
        break;
      case TrackKind::kMark:
        return TakeMark(id, slice);
      default:
        break;
    }
  }

  void TakeThread(int32_t id, const StagedSlice& slice) {
    if (!IsOperator(slice)) return;
    const std::string_view name = slice.name < 0 ? "" : rows_.names.Text(slice.name);
    store::FrameworkOpRow op;
    op.slice_id = id;
    const bool is_step = name.starts_with(kStepPrefix);
    const bool is_backward = Number(id, kForwardThread, 0) > 0;
    op.scope = NumberOf(is_step ? Scope::kStep : is_backward ? Scope::kBackward : Scope::kOp);
    op.sequence_number = std::max<int64_t>(Number(id, kSequenceNumber), -1);
    op.signature_id = SignatureOf(id);
    op.stack_id = StackOf(Text(id, kCallStack));
    rows_.ops.push_back(op);
    if (!is_step) return;
    store::StepRow step;
    step.step_id = base::ParseInt64(name.substr(kStepPrefix.size())).value_or(-1);
    step.rank = rows_.rank;
    step.process_id = trace_.process_id;
    step.slice_id = id;
    step.ts = slice.ts;
    step.dur = slice.dur;
    rows_.steps.push_back(step);
  }

  // Of mstx: a range, or a moment that is a slice of no duration in the file.
  void TakeMark(int32_t id, const StagedSlice& slice) {
    const std::string_view type = TextView(id, kEventType);
    if (type.empty()) return;
    const bool is_range = type == "push/pop" || type == "start/end";
    store::MarkRow mark;
    mark.ts = slice.ts;
    mark.dur = is_range ? slice.dur : 0;
    mark.track_id = TrackId(slice.track);
    mark.domain = Text(id, kDomain);
    if (mark.domain < 0) mark.domain = rows_.names.Intern("default");
    mark.message = slice.name;
    mark.kind = rows_.names.Intern(!is_range            ? "marker"
                                   : type == "push/pop" ? "push_pop"
                                                        : "start_end");
    mark.slice_id = id;
    rows_.marks.push_back(mark);
  }

  // MindSpore on a CPU: the operator is its own kernel.
  void TakeCpuOp(int32_t id, const StagedSlice& slice) {
    const std::string_view name = slice.name < 0 ? "" : rows_.names.Text(slice.name);
    store::FrameworkOpRow op;
    op.slice_id = id;
    op.scope = NumberOf(Scope::kOp);
    const std::string_view module = mindspore::ScopePath(name);
    if (!module.empty()) op.module = rows_.names.Intern(module);
    rows_.ops.push_back(op);
    store::TaskKindRow kind;
    kind.name = slice.name;
    kind.op_type = rows_.names.Intern(capture::MindsporeOperatorType(name));
    kind.core = rows_.names.Intern("CPU");
    store::DeviceTaskRow task;
    task.slice_id = id;
    const TrackEntry& track = stage_.TrackOf(slice);
    task.track_id =
        rows_.CpuStream(ProcessId(track.process),
                        stage_.arrangement().thread_ids[static_cast<size_t>(track.thread)]);
    task.ts = slice.ts;
    task.dur = std::max<int64_t>(slice.dur, 0);
    task.kind_id = rows_.Kind(kind);
    task.launch_slice_id = id;
    rows_.tasks.push_back(task);
  }

  // Older profilers swapped shapes and types.
  int32_t SignatureOf(int32_t id) {
    const int32_t dims = Text(id, kInputDims);
    const int32_t types = Text(id, kInputType);
    if (dims < 0 && types < 0) return store::kNone;
    const int64_t texts = Joined(dims, types);
    KnownSignature& known =
        known_signatures_[base::HashInt(static_cast<uint64_t>(texts)) % known_signatures_.size()];
    if (known.signature < 0 || known.texts != texts) {
      const int32_t shapes = NameOnOneLine(dims);
      known = {texts, rows_.Signature(shapes, NameOnOneLine(types))};
    }
    return known.signature;
  }

  int32_t NameOnOneLine(int32_t name) {
    const std::string_view text = name < 0 ? std::string_view() : rows_.names.Text(name);
    const bool is_one = name >= 0 && text.find('\n') == std::string_view::npos &&
                        text.find('\r') == std::string_view::npos;
    return is_one ? name : rows_.names.Intern(JoinedLines(text));
  }

  int32_t StackOf(int32_t text) {
    if (text < 0) return store::kNone;
    const auto [found, is_new] = stacks_.try_emplace(text, static_cast<int32_t>(stacks_.size()));
    if (is_new) {
      const std::string frames = JoinedLines(rows_.names.Text(text));
      int32_t depth = 0;
      for (const std::string_view frame : base::Split(frames, ';')) {
        rows_.callstacks.push_back(
            {.stack_id = found->second, .depth = depth++, .frame = rows_.names.Intern(frame)});
      }
    }
    return found->second;
  }

  void TakeCall(int32_t id) {
    device_.AddCall(
        {.level = Text(id, kLevel), .connection_id = Number(id, kConnectionId), .slice_id = id});
  }

  void TakeTask(int32_t id, const StagedSlice& slice, const TrackEntry& track) {
    constexpr int64_t kNone32 = 4294967295;
    const int64_t model = Number(id, kModelId);
    const int32_t track_id = TrackId(slice.track);
    const int64_t part = Number(id, kSubtaskId);
    const int32_t kind_id =
        KindOfTask(slice.name, Text(id, kTaskType),
                   {model == kNone32 ? -1 : model, part == kNone32 ? -1 : part});
    const int32_t task = device_.AddTask({.ts = slice.ts,
                                          .dur = slice.dur,
                                          .kind_id = kind_id,
                                          .connection_id = Number(id, kConnectionId),
                                          .queue_number = Number(id, kTaskId),
                                          .slice_id = id,
                                          .track_id = track_id});
    trace_.tasks.Add(slice.name, slice.ts, task);
    trace_.stream_tracks.try_emplace(track.stream_id, track_id);
    trace_.device_process_id = ProcessId(track.process);
    trace_.device_id = track.device_id;
  }

  // -1: none
  struct TaskNumbers {
    int64_t model;
    int64_t part;  // of a task that runs in parts
  };
  int32_t KindOfTask(int32_t name, int32_t type, const TaskNumbers& numbers) {
    const bool is_plain = numbers.model < 0 && numbers.part < 0;
    if (is_plain) {
      if (const int32_t* known = kind_of_names_.Find(Joined(name, type))) return *known;
    }
    store::TaskKindRow kind;
    kind.name = name;
    kind.task_type = type;
    kind.model_id = numbers.model;
    kind.context_id = numbers.part;
    if (type >= 0 && IsKernelType(rows_.names.Text(type))) kind.core = type;
    const int32_t kind_id = rows_.Kind(kind);
    if (is_plain) kind_of_names_.Insert(Joined(name, type), kind_id);
    return kind_id;
  }

  void TakeOperation(int32_t id, const StagedSlice& slice, const TrackEntry& track) {
    ascend::CommunicationOp op;
    op.slice_id = id;
    op.process_id =
        trace_.device_process_id >= 0 ? trace_.device_process_id : ProcessId(track.process);
    op.device_id = track.device_id;
    op.ts = slice.ts;
    op.dur = slice.dur;
    op.name = slice.name;
    // "Group <communicator> Communication"; older files number the groups.
    std::string group(track.name < 0 ? "" : rows_.names.Text(track.name));
    if (group.starts_with("Group ")) group.erase(0, 6);
    if (group.ends_with(" Communication")) group.erase(group.size() - 14);
    op.group = group;
    op.data_type = Text(id, kDataType);
    op.algorithm = Text(id, kAlgorithm);
    op.count = Number(id, kCount);
    op.rank_size = Number(id, kRankSize);
    op.connection_id = Number(id, kConnectionId);
    bool has_size = true;
    const int32_t index = device_.AddOperation(op, has_size);
    operations_of_thread_[{track.process,
                           stage_.tracks().threads[static_cast<size_t>(track.thread)].number}]
        .push_back({op.ts, op.ts + std::max<int64_t>(op.dur, 0), index});
    trace_.communications.Add(op.name, op.ts, index);
  }

  // By start. Operations may overlap: each knows the last end of all up to it.
  void SortOperations() {
    for (auto& [thread, operations] : operations_of_thread_) {
      std::stable_sort(operations.begin(), operations.end(),
                       [](const auto& a, const auto& b) { return a.ts < b.ts; });
      for (size_t i = 1; i < operations.size(); ++i) {
        operations[i].last_end = std::max(operations[i].last_end, operations[i - 1].last_end);
      }
    }
  }

  // Transfers are on planes, whose thread numbers follow that of their group.
  void TakePlanes() {
    SortOperations();
    for (const int32_t id : planes_) {
      const StagedSlice& slice = stage_.Slice(id);
      const std::string_view type = TextView(id, kPlaneTaskType);
      if (type != "Memcpy" && type != "Reduce_Inline" && !type.starts_with("RDMA")) continue;
      const int64_t bytes = Number(id, kTransferBytes);
      constexpr int64_t kLargest = int64_t{1} << 50;
      const int32_t operation = OperationOf(slice);
      if (operation < 0 || bytes < 0 || bytes > kLargest) continue;
      Sum& sum =
          transfers_[{operation, TransportOf(id), Text(id, kLinkType),
                      RankOf(Number(id, kSourceRank)), RankOf(Number(id, kTargetRank)), bytes}];
      ++sum.count;
      sum.dur_ns += std::max<int64_t>(slice.dur, 0);
    }
    for (const auto& [key, sum] : transfers_) {
      const auto& [operation, transport, link, src, dst, bytes] = key;
      rows_.transits.push_back({.communication_id = operation,
                                .transport = transport,
                                .src_rank = src,
                                .dst_rank = dst,
                                .size_bytes = bytes * sum.count,
                                .duration_ns = sum.dur_ns,
                                .packet_count = sum.count,
                                .link_type = link});
    }
  }

  int32_t OperationOf(const StagedSlice& slice) const {
    const TrackEntry& track = stage_.TrackOf(slice);
    const int64_t number = stage_.tracks().threads[static_cast<size_t>(track.thread)].number;
    auto group = operations_of_thread_.upper_bound({track.process, number});
    if (group == operations_of_thread_.begin()) return store::kNone;
    --group;
    if (group->first.first != track.process) return store::kNone;
    // The first that ends late enough; one that begins late is one after the transfer.
    const auto& operations = group->second;
    const auto found =
        std::lower_bound(operations.begin(), operations.end(), slice.ts,
                         [](const GroupOperation& op, int64_t ts) { return op.last_end < ts; });
    return found != operations.end() && found->ts <= slice.ts ? found->index : store::kNone;
  }

  int32_t TransportOf(int32_t id) {
    const std::string_view link = TextView(id, kLinkType);
    if (link == "ON_CHIP") return rows_.names.Intern("LOCAL");
    if (link == "HCCS" || link == "HCCS_SW") return rows_.names.Intern("HCCS");
    if (link == "PCIE" || link == "SIO") return Text(id, kLinkType);
    if (link == "ROCE" || link == "STANDARD_ROCE") return rows_.names.Intern("RDMA");
    return Text(id, kTransportType);
  }

  static int32_t RankOf(int64_t rank) {
    return rank >= 0 && rank <= INT32_MAX ? static_cast<int32_t>(rank) : store::kNone;
  }

  // Launches of operators, from the arrows between them.
  void Connect() {
    const int32_t category = rows_.names.Find("async_npu");
    if (category < 0) return;
    NumberTable<int32_t> begins(rows_.pool());
    bool is_once = true;
    stage_.flow_ends().ForEach([&](uint32_t, const FlowEnd& end) {
      if (end.category == category && end.phase == 's') {
        is_once &= begins.Insert(static_cast<int64_t>(end.key), end.slice).second;
      }
    });
    if (!is_once) return ConnectByTime(category);
    stage_.flow_ends().ForEach([&](uint32_t, const FlowEnd& end) {
      if (end.category != category || end.phase != 'f') return;
      const int32_t* begin = begins.Find(static_cast<int64_t>(end.key));
      if (begin == nullptr) return;
      SetLaunch(rows_.tasks, end.slice, *begin);
      SetLaunch(rows_.communications, end.slice, *begin);
    });
  }

  // Where an id is used again, the begin before an end is the one that launched.
  void ConnectByTime(int32_t category) {
    const auto& ends = stage_.flow_ends();
    const trace_events::FlowPairs pairs(ends, rows_.pool());
    for (const trace_events::FlowPairs::Flow& flow : pairs.flows()) {
      if (ends[flow.to].category == category && ends[flow.to].phase == 'f') {
        SetLaunch(rows_.tasks, ends[flow.to].slice, ends[flow.from].slice);
        SetLaunch(rows_.communications, ends[flow.to].slice, ends[flow.from].slice);
      }
    }
  }

  // Rows of the timeline are in the order of their slices.
  template <class Rows>
  static void SetLaunch(Rows& rows, int32_t slice, int32_t launch) {
    const auto row = std::lower_bound(rows.begin(), rows.end(), slice,
                                      [](const auto& r, int32_t id) { return r.slice_id < id; });
    if (row != rows.end() && row->slice_id == slice) row->launch_slice_id = launch;
  }

  struct KnownSignature {
    int64_t texts = 0;
    int32_t signature = store::kNone;
  };
  struct Sum {
    int64_t count = 0;
    int64_t dur_ns = 0;
  };
  struct GroupOperation {
    int64_t ts = 0;
    int64_t last_end = 0;
    int32_t index = store::kNone;  // into rows_.communications
  };
  EventStage& stage_;
  TextTrace& trace_;
  TraceRows& rows_;
  ascend::DeviceRows device_;
  int32_t op_category_;
  int32_t annotation_category_;
  std::vector<TrackKind> kinds_;  // by place of the track
  NumberTable<int32_t> kind_of_names_;
  // Of the texts met last, each in the only place that its hash allows.
  std::vector<KnownSignature> known_signatures_ = std::vector<KnownSignature>(4096);
  int32_t cpu_process_ = store::kNone;  // place of MindSpore's layer of CPU operators
  std::unordered_map<int32_t, int32_t> stacks_;
  std::map<std::pair<int32_t, int64_t>, std::vector<GroupOperation>> operations_of_thread_;
  std::vector<int32_t> planes_;
  std::map<std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, int64_t>, Sum> transfers_;
};

}  // namespace

void RowsOfTimeline(EventStage& stage, TextTrace& trace) { TimelineRows(stage, trace).Run(); }

}  // namespace sonde::importers::text_import

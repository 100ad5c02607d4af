// Device side of a Kineto trace: launches, kernels, flows between them.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/format/framework_rows.h"
#include "exporters/kineto/kineto_events.h"
#include "recipes/communication/naming.h"

namespace sonde::exporters {
namespace {

using recipes::DeviceView;
using recipes::TraceData;

constexpr size_t kDeviceTasksPerPiece = 2048;
constexpr std::string_view kWait = "cuda_sync";
// The host waits for nothing: its launch takes the shortest time that can be written.
constexpr int64_t kLaunchNs = 1;

// Correlation numbers begin here: HolisticTraceAnalysis stores positions of events in a column as
// wide as the greatest correlation, and fails where 16 bits do for these and not for those.
constexpr int64_t kFirstCorrelation = int64_t{1} << 20;

// The parts of one kernel, copy or wait and its launch.
struct Kernel {
  std::string_view category = "kernel";
  std::string_view name;  // JSON text
  int64_t device = 0;
  int64_t stream = 0;
  int64_t ts_ns = 0;
  int64_t dur_ns = 0;
  int64_t correlation = 0;
  int32_t launch_slice = store::kNone;
  std::string_view more_args = "";  // JSON members, with the comma before
};

class KernelWriter {
 public:
  // `has_launches`: the calls that launched the work are written by another.
  KernelWriter(const TraceData& data, const FrameworkRows& rows, int64_t base_ns, bool has_launches)
      : data_(data), rows_(rows), base_ns_(base_ns), has_launches_(has_launches) {}

  void Append(const Kernel& kernel, LineBuffer& out) const {
    AppendWork(kernel, out);
    if (kernel.launch_slice >= 0 && !has_launches_) AppendLaunch(kernel, out);
  }

 private:
  void AppendWork(const Kernel& kernel, LineBuffer& out) const {
    out.Append(
        ",\n"
        R"({"ph":"X","cat":")");
    out.Append(kernel.category);
    out.Append(R"(","name":)");
    out.Append(kernel.name);
    AppendRow(kernel.device, kernel.stream, kernel.ts_ns, out);
    out.Append(R"(,"dur":)");
    out.Microseconds(kernel.dur_ns);
    out.Append(R"(,"args":{"External id":)");
    out.Int(int64_t{kernel.launch_slice} + 1);
    out.Append(R"(,"queued":0,"device":)");
    out.Int(kernel.device);
    // Slices that are no work have a row only: readers take everything on a stream for work.
    if (kernel.category != kWait) {
      out.Append(R"(,"context":1,"stream":)");
      out.Int(kernel.stream);
    }
    out.Append(R"(,"correlation":)");
    out.Int(kernel.correlation);
    out.Append(kernel.more_args);
    out.Append("}}");
  }

  void AppendLaunch(const Kernel& kernel, LineBuffer& out) const {
    const store::SliceRow& launch = data_.Slice(kernel.launch_slice);
    const int64_t pid = data_.PidOf(data_.TrackOf(launch).process_id);
    const int64_t tid = rows_.OfTrack(launch.track_id);
    out.Append(
        ",\n"
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel")");
    // Behind the begin of its operator, where arrows to that one end.
    const int64_t ts_ns = launch.ts + (data_.DurationNs(launch) > kLaunchNs ? 1 : 0);
    AppendRow(pid, tid, ts_ns, out);
    out.Append(R"(,"dur":)");
    out.Microseconds(std::min(kLaunchNs, data_.DurationNs(launch)));
    out.Append(R"(,"args":{"External id":)");
    out.Int(int64_t{kernel.launch_slice} + 1);
    out.Append(R"(,"cbid":211,"correlation":)");
    out.Int(kernel.correlation);
    out.Append("}}");
    AppendFlow('s', kernel.correlation, pid, tid, ts_ns, out);
    AppendFlow('f', kernel.correlation, kernel.device, kernel.stream, kernel.ts_ns, out);
  }

  void AppendRow(int64_t pid, int64_t tid, int64_t ts_ns, LineBuffer& out) const {
    out.Append(R"(,"pid":)");
    out.Int(pid);
    out.Append(R"(,"tid":)");
    out.Int(tid);
    out.Append(R"(,"ts":)");
    out.Microseconds(ts_ns - base_ns_);
  }

  void AppendFlow(char phase, int64_t id, int64_t pid, int64_t tid, int64_t ts_ns,
                  LineBuffer& out) const {
    out.Append(phase == 's' ? ",\n"
                              R"({"ph":"s","id":)"
                            : ",\n"
                              R"({"ph":"f","id":)");
    out.Int(id);
    AppendRow(pid, tid, ts_ns, out);
    out.Append(phase == 's' ? R"(,"cat":"ac2g","name":"ac2g"})"
                            : R"(,"cat":"ac2g","name":"ac2g","bp":"e"})");
  }

  const TraceData& data_;
  const FrameworkRows& rows_;
  int64_t base_ns_;
  bool has_launches_;
};

// "allReduce" -> "AllReduce"
std::string Capitalised(std::string_view kind) {
  std::string text(kind);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string CollectiveArguments(const DeviceView& view, size_t index) {
  const TraceData& data = *view.data;
  const store::CommunicationOpRow& op = data.communications[index];
  const auto text = [](std::string_view key, std::string_view value) {
    return base::Concat(", \"", key, "\": ", base::JsonQuote(value));
  };
  const auto number = [](std::string_view key, int64_t value) {
    return base::Concat(", \"", key, "\": ", std::to_string(value));
  };
  std::string arguments = text("Collective name", data.Name(op.op_type));
  if (op.count >= 0) {
    arguments += number("In msg nelems", op.count) + number("Out msg nelems", op.count);
  }
  if (op.rank_size >= 0) arguments += number("Group size", op.rank_size);
  arguments += text("dtype", data.Name(op.data_type));
  arguments += text("Process Group Name", view.communications[index].group_name);
  for (const recipes::CommunicationGroup& group : data.groups) {
    if (group.hash != view.communications[index].group_hash) continue;
    arguments += text("Process Group Description", data.Name(group.description));
    arguments += text("Process Group Ranks", group.rank_list);
  }
  return arguments;
}

// Streams of tasks count from 1; those of communication follow, one a lane of a group.
int64_t StreamCount(const DeviceView& view) {
  int64_t count = 0;
  for (size_t i = 0; i < view.device_of_track.size(); ++i) {
    if (view.device_of_track[i] >= view.devices.size()) continue;
    count = std::max<int64_t>(count, view.data->tracks[i].stream_id + 1);
  }
  return count;
}

// Operations that a device reported as kernels: of one slice, or beside it, of the same time.
struct KernelOperations {
  std::unordered_map<int32_t, size_t> of_task;  // by task_id
  std::vector<bool> is_kernel;                  // by operation
};
KernelOperations OperationsOfTasks(const DeviceView& view) {
  const TraceData& data = *view.data;
  KernelOperations found;
  found.is_kernel.resize(data.communications.size());
  std::unordered_map<int32_t, size_t> of_slice;
  std::map<std::tuple<int64_t, int64_t, int64_t>, size_t> of_time;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (op.slice_id >= 0) of_slice.emplace(op.slice_id, i);
    const int64_t device = view.devices[view.communications[i].device].device_id;
    of_time.emplace(std::tuple(device, op.ts, op.dur), i);
  }
  const auto take = [&](const store::DeviceTaskRow& task, size_t operation) {
    if (found.is_kernel[operation]) return;
    found.is_kernel[operation] = true;
    found.of_task.emplace(task.task_id, operation);
  };
  if (of_time.empty()) return found;
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (const auto same = of_slice.find(task.slice_id); same != of_slice.end()) {
      take(task, same->second);
      continue;
    }
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    if (data.Name(kind.core) != "COMMUNICATION") continue;
    const auto beside = of_time.find({view.DeviceOfTask(task).device_id, task.ts, task.dur});
    if (beside != of_time.end()) take(task, beside->second);
  }
  return found;
}

void AppendCommunications(const DeviceView& view, const KernelWriter& writer,
                          const std::vector<bool>& is_kernel, LineBuffer& out) {
  const TraceData& data = *view.data;
  const int64_t first_stream = StreamCount(view) + 1;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (is_kernel[i]) continue;
    const recipes::CommunicationView& shown = view.communications[i];
    int64_t stream = first_stream + static_cast<int64_t>(shown.lane);
    for (size_t group = 0; group < shown.group; ++group) {
      stream += static_cast<int64_t>(view.group_lanes[group]);
    }
    const std::string name = base::JsonQuote(
        base::Concat("ncclDevKernel_", Capitalised(recipes::HcomKind(data.Name(op.op_type))), " (",
                     data.Name(op.algorithm), ")"));
    const std::string arguments = CollectiveArguments(view, i);
    writer.Append({.name = name,
                   .device = view.devices[shown.device].device_id,
                   .stream = stream,
                   .ts_ns = op.ts,
                   .dur_ns = view.EndNs(op) - op.ts,
                   .correlation = kFirstCorrelation + view.ConnectionOf(op),
                   .launch_slice = op.launch_slice_id,
                   .more_args = arguments},
                  out);
  }
}

// By the kind of a task: what Kineto's readers make of it.
struct TaskForm {
  std::string_view category;
  std::string name;  // JSON text
};
std::vector<TaskForm> TaskForms(const TraceData& data) {
  std::vector<TaskForm> forms;
  for (const store::TaskKindRow& kind : data.kinds) {
    const std::string_view name = data.Name(kind.name);
    const std::string type = base::ToLower(data.Name(kind.task_type));
    const auto copy = [&](std::string_view category, std::string_view word) {
      const bool is_named = name.starts_with(word);
      forms.push_back({category, base::JsonQuote(is_named ? std::string(name)
                                                          : base::Concat(word, " (", name, ")"))});
    };
    if (kind.core != store::kNone) {
      forms.push_back({"kernel", base::JsonQuote(name)});
    } else if (type.find("memcpy") != std::string::npos) {
      copy("gpu_memcpy", "Memcpy");
    } else if (type.find("memset") != std::string::npos) {
      copy("gpu_memset", "Memset");
    } else {
      forms.push_back({kWait, base::JsonQuote(name)});
    }
  }
  return forms;
}

// Hardware counters, which are in the order of their tasks.
std::string CounterArguments(const TraceData& data, int32_t task_id) {
  std::string text;
  base::NumberBuffer number;
  auto row = std::ranges::lower_bound(data.pmu, task_id, {}, &store::DeviceTaskPmuRow::task_id);
  for (; row != data.pmu.end() && row->task_id == task_id; ++row) {
    if (row->value - row->value != 0) continue;  // not finite
    text += base::Concat(",", base::JsonQuote(data.Name(row->metric)), ":",
                         base::FormatPythonDouble(row->value, number));
  }
  return text;
}

class TaskWriter {
 public:
  TaskWriter(const DeviceView& view, const KinetoImported& imported)
      : view_(view),
        imported_(imported),
        forms_(TaskForms(*view.data)),
        operations_(OperationsOfTasks(view)),
        first_correlation_(imported.has_runtime ? 0 : kFirstCorrelation) {}

  void Append(const store::DeviceTaskRow& task, const KernelWriter& writer, LineBuffer& out) const {
    if (imported_.on_planes.contains(task.slice_id)) return;
    std::string more = CounterArguments(*view_.data, task.task_id);
    const auto operation = operations_.of_task.find(task.task_id);
    if (operation != operations_.of_task.end())
      more += CollectiveArguments(view_, operation->second);
    const TaskForm& form = forms_[static_cast<size_t>(task.kind_id)];
    writer.Append({.category = form.category,
                   .name = form.name,
                   .device = view_.DeviceOfTask(task).device_id,
                   .stream = view_.StreamOf(task) + 1,
                   .ts_ns = task.ts,
                   .dur_ns = std::max<int64_t>(task.dur, 0),
                   .correlation = first_correlation_ + view_.ConnectionOf(task),
                   .launch_slice = task.launch_slice_id,
                   .more_args = more},
                  out);
  }
  const std::vector<bool>& kernel_operations() const { return operations_.is_kernel; }

 private:
  const DeviceView& view_;
  const KinetoImported& imported_;
  std::vector<TaskForm> forms_;
  KernelOperations operations_;
  int64_t first_correlation_;
};

}  // namespace

void AddKinetoDevice(const ExportContext& context, const KinetoImported& imported, int64_t base_ns,
                     TracePieces& pieces) {
  const DeviceView& view = context.view;
  const TraceData& data = *view.data;
  const bool has_launches = imported.has_runtime;
  const auto rows = std::make_shared<const FrameworkRows>(data);
  const auto tasks = std::make_shared<const TaskWriter>(view, imported);
  pieces.AddRanges(
      data.tasks.size(), kDeviceTasksPerPiece,
      [&data, rows, tasks, base_ns, has_launches](size_t begin, size_t end, LineBuffer& out) {
        const KernelWriter writer(data, *rows, base_ns, has_launches);
        for (size_t i = begin; i < end; ++i) tasks->Append(data.tasks[i], writer, out);
      });
  pieces.Add([&view, rows, tasks, base_ns](LineBuffer& out) {
    AppendCommunications(view, KernelWriter(*view.data, *rows, base_ns, /*has_launches=*/false),
                         tasks->kernel_operations(), out);
  });
}

}  // namespace sonde::exporters

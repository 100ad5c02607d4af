#include "importers/ascend/device_model.h"

#include <algorithm>
#include <string>

#include "base/strings.h"
#include "importers/ascend/groups.h"

namespace sonde::importers::ascend {
namespace {

using base::Concat;

// False for an impossible size; the size is unknown where type or count is.
bool SetSize(const store::NamePool& names, store::CommunicationOpRow& op) {
  if (op.data_type == store::kNone || op.count < 0) return true;
  const int64_t bytes = ElementBytes(names.Text(op.data_type));
  int64_t size = 0;
  if (bytes <= 0) return true;
  if (__builtin_mul_overflow(op.count, bytes, &size)) return false;
  op.size_bytes = size;
  return true;
}

}  // namespace

store::TaskKindRow DeviceRows::KindOf(const Kernel& kernel) {
  store::TaskKindRow kind;
  kind.name = kernel.name;
  kind.op_type = kernel.op_type;
  kind.core = kernel.core == store::kNone ? rows_.names.Intern("N/A") : kernel.core;
  kind.block_num = kernel.block_num;
  kind.mix_block_num = kernel.mix_block_num;
  kind.input_formats = kernel.input_formats;
  kind.input_types = kernel.input_types;
  kind.input_shapes = kernel.input_shapes;
  kind.output_formats = kernel.output_formats;
  kind.output_types = kernel.output_types;
  kind.output_shapes = kernel.output_shapes;
  kind.op_state = kernel.op_state;
  kind.hf32 = kernel.hf32;
  return kind;
}

int32_t DeviceRows::Shapes(std::string_view cell) {
  const auto shapes = UnquotedShapes(cell);
  return shapes ? rows_.names.Intern(*shapes) : store::kNone;
}

int32_t DeviceRows::Known(std::string_view cell) {
  return cell.empty() || cell == "N/A" ? store::kNone : rows_.names.Intern(cell);
}

int32_t DeviceRows::StreamTrack(const Place& place) {
  const auto [found, is_new] = track_of_stream_.try_emplace(place, store::kNone);
  if (is_new) {
    const std::string name =
        place.stream_id < 0 ? "Stream" : Concat("Stream ", std::to_string(place.stream_id));
    found->second = rows_.Track({.kind = capture::TrackKind::kStream,
                                 .name = name,
                                 .process_id = place.process_id,
                                 .device_id = place.device_id,
                                 .stream_id = place.stream_id});
  }
  return found->second;
}

int32_t DeviceRows::PlaneTrack(const DeviceTask& task) {
  const std::tuple key(task.place.process_id, task.place.device_id, *task.plane);
  const auto [found, is_new] = track_of_plane_.try_emplace(key, store::kNone);
  if (is_new) {
    const std::string plane = Concat("Plane ", std::to_string(*task.plane));
    found->second = rows_.Track({.kind = capture::TrackKind::kCommunicationPlane,
                                 .name = plane,
                                 .process_id = task.place.process_id,
                                 .device_id = task.place.device_id});
  }
  return found->second;
}

int32_t DeviceRows::AddTask(const DeviceTask& task) {
  store::DeviceTaskRow row;
  row.ts = task.ts;
  row.dur = std::max<int64_t>(task.dur, 0);
  const int32_t plane = task.plane ? PlaneTrack(task) : store::kNone;
  row.track_id = task.track_id != store::kNone ? task.track_id : StreamTrack(task.place);
  row.slice_id = task.slice_id;
  if (task.slice_id == store::kNone && task.is_shown) {
    const bool is_kernel = task.kind.core != store::kNone;
    row.slice_id =
        rows_.AddSlice(plane != store::kNone ? plane : row.track_id, task.ts, task.dur,
                       task.kind.name, rows_.names.Intern(is_kernel ? "kernel" : "device_task"));
    row.ts = rows_.slices.back().ts;
    row.dur = rows_.slices.back().dur;
  }
  row.kind_id = task.kind_id != store::kNone ? task.kind_id : rows_.Kind(task.kind);
  row.connection_id = task.connection_id;
  row.queue_number = task.queue_number;
  row.step_id = task.step_id;
  const auto index = static_cast<int32_t>(rows_.tasks.size());
  rows_.tasks.push_back(row);
  return index;
}

int32_t DeviceRows::AddOperation(const CommunicationOp& op, bool& has_size) {
  const std::string_view name =
      op.name == store::kNone ? std::string_view() : rows_.names.Text(op.name);
  store::CommunicationOpRow row;
  row.process_id = op.process_id;
  row.device_id = op.device_id;
  row.ts = op.ts;
  row.dur = op.dur;
  row.name = op.name;
  row.is_p2p = IsPointToPoint(CommunicationType(name)) ? 1 : 0;
  // At level 0 the type is not recorded, and the name has it.
  const bool is_known = !op.type.empty() && op.type != "N/A";
  row.op_type = rows_.names.Intern(CommunicationType(is_known ? op.type : name));
  if (op.group) {
    row.group_name = rows_.names.Intern(*op.group);
    row.group_hash = static_cast<int64_t>(GroupHash(*op.group));
  }
  row.data_type = op.data_type;
  row.algorithm = op.algorithm;
  row.count = std::max<int64_t>(op.count, -1);
  row.rank_size = std::max<int64_t>(op.rank_size, -1);
  row.connection_id = op.connection_id;
  row.step_id = op.step_id;
  row.launch_slice_id = op.launch_slice_id;
  has_size = op.count >= -1 && SetSize(rows_.names, row);
  row.slice_id = op.slice_id;
  if (op.slice_id == store::kNone && op.is_shown) {
    const std::string label =
        op.group ? Concat("Group ", *op.group, " Communication") : "Communication";
    const int32_t track = rows_.Track({.kind = capture::TrackKind::kCommunicationGroup,
                                       .name = label,
                                       .process_id = op.process_id,
                                       .device_id = op.device_id});
    row.slice_id =
        rows_.AddSlice(track, op.ts, op.dur, op.name, rows_.names.Intern("communication"));
    row.ts = rows_.slices.back().ts;
    row.dur = rows_.slices.back().dur;
  }
  const auto index = static_cast<int32_t>(rows_.communications.size());
  rows_.communications.push_back(row);
  return index;
}

int32_t DeviceRows::CallTrack(int32_t thread_id) {
  return rows_.ThreadTrack(capture::TrackKind::kApi, thread_id);
}

int32_t DeviceRows::AddCall(const ApiCall& call) {
  // Newer tools write "communication".
  const bool is_old = call.level >= 0 && rows_.names.Text(call.level) == "hccl";
  const int32_t level = is_old ? rows_.names.Intern("communication") : call.level;
  int32_t slice = call.slice_id;
  if (slice == store::kNone) {
    const int32_t track = call.track_id != store::kNone ? call.track_id : CallTrack(call.thread_id);
    slice = rows_.AddSlice(track, call.ts, call.dur, call.name, level);
  }
  rows_.api_calls.push_back(
      {.slice_id = slice, .level = level, .connection_id = call.connection_id});
  return slice;
}

void DeviceRows::AddCounter(const HardwareCounter& counter) {
  const Metric metric = counter.is_of_database ? MetricOf(counter.name) : Metric{counter.name, 1};
  rows_.pmu.push_back(
      {.task_id = counter.task, .metric = metric.name, .value = counter.value / metric.unit});
}

void DeviceRows::AddArguments(int32_t slice, std::span<const Argument> arguments) {
  constexpr int16_t kText = 0;
  constexpr int16_t kNumber = 2;  // kept as it is written
  int32_t& args = rows_.slices[static_cast<size_t>(slice)].args_id;
  if (args == store::kNone) args = rows_.next_args_id++;
  for (const Argument& argument : arguments) {
    rows_.args_text.push_back({.args_id = args,
                               .key = rows_.names.Intern(argument.key),
                               .form = argument.is_number ? kNumber : kText,
                               .value = rows_.names.Intern(argument.text)});
  }
}

void DeviceRows::AddFacts(int32_t slice, int32_t name, const TransferFacts& facts) {
  int32_t& args = rows_.slices[static_cast<size_t>(slice)].args_id;
  if (args == store::kNone) args = rows_.next_args_id++;
  const auto key = [this](std::string_view text) { return rows_.names.Intern(text); };
  for (size_t i = 0; i < TransferFacts::kNumberKeys.size(); ++i) {
    if (facts.numbers[i] < 0) continue;
    rows_.args_int.push_back(
        {.args_id = args, .key = key(TransferFacts::kNumberKeys[i]), .value = facts.numbers[i]});
  }
  const auto add_text = [&](std::string_view text, int32_t value) {
    if (value == store::kNone) return;
    rows_.args_text.push_back({.args_id = args, .key = key(text), .form = 0, .value = value});
  };
  for (size_t i = 0; i < TransferFacts::kTextKeys.size(); ++i) {
    add_text(TransferFacts::kTextKeys[i], facts.texts[i]);
  }
  add_text("task type", name);
  if (!facts.bandwidth) return;
  rows_.args_double.push_back(
      {.args_id = args, .key = key("bandwidth(GB/s)"), .value = *facts.bandwidth});
}

bool TransferSums::MovesData(std::string_view name) {
  return name == "Memcpy" || name == "Reduce_Inline" || name.starts_with("RDMA");
}

int32_t TransferSums::TransportOf(store::NamePool& names, std::string_view link,
                                  int32_t transport) {
  if (link == "ON_CHIP") return names.Intern("LOCAL");
  if (link == "HCCS" || link == "HCCS_SW") return names.Intern("HCCS");
  if (link == "PCIE" || link == "SIO") return names.Intern(link);
  if (link == "ROCE" || link == "STANDARD_ROCE") return names.Intern("RDMA");
  return transport;
}

void TransferSums::Add(const Transfer& transfer) {
  Sum& sum = sums_[{transfer.operation, transfer.transport, transfer.link, transfer.src_rank,
                    transfer.dst_rank, transfer.size}];
  ++sum.count;
  sum.dur_ns += transfer.dur_ns;
}

void TransferSums::Write(TraceRows& rows) const {
  for (const auto& [key, sum] : sums_) {
    const auto& [operation, transport, link, src, dst, size] = key;
    rows.transits.push_back({.communication_id = operation,
                             .transport = transport,
                             .src_rank = src,
                             .dst_rank = dst,
                             .size_bytes = size * sum.count,
                             .duration_ns = sum.dur_ns,
                             .packet_count = sum.count,
                             .link_type = link});
  }
}

void LeaveLaunches(TraceRows& rows) {
  const auto is_kernel = [&](const store::DeviceTaskRow& task) {
    return rows.kinds[static_cast<size_t>(task.kind_id)].core != store::kNone;
  };
  NumberTable<bool> counted(rows.pool());  // connections
  for (const store::DeviceTaskRow& task : rows.tasks) {
    if (task.launch_slice_id >= 0 && is_kernel(task)) counted.Insert(task.connection_id, true);
  }
  for (const store::CommunicationOpRow& op : rows.communications) {
    if (op.launch_slice_id >= 0) counted.Insert(op.connection_id, true);
  }
  for (store::DeviceTaskRow& task : rows.tasks) {
    if (task.launch_slice_id < 0 || is_kernel(task)) continue;
    if (counted.Find(task.connection_id) != nullptr) task.launch_slice_id = store::kNone;
  }
}

// Metrics as text files name them, whose times are microseconds.
DeviceRows::Metric DeviceRows::MetricOf(int32_t name) {
  if (name == store::kNone) return {name, 1};
  const auto known = metrics_.find(name);
  if (known != metrics_.end()) return known->second;
  Metric metric{name, 1};
  std::string text(rows_.names.Text(name));
  if (text.ends_with("_time")) {
    metric.unit = 1000;
    if (text == "total_time" || text == "aic_total_time") text = "aicore_time";
    if (text == "aiv_total_time") text = "aiv_time";
    metric.name = rows_.names.Intern(text + "(us)");
  }
  metrics_.emplace(name, metric);
  return metric;
}

}  // namespace sonde::importers::ascend

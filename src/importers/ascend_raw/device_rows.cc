#include "importers/ascend_raw/device_rows.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "importers/ascend_raw/ge_names.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

int64_t Known(uint64_t number) { return number < kNoContext ? static_cast<int64_t>(number) : -1; }

int32_t KnownRank(uint32_t rank) {
  return rank <= INT32_MAX ? static_cast<int32_t>(rank) : store::kNone;
}

// In the device's form.
std::string TypeOf(const Chip& chip, const RanTask& ran) {
  if (ran.is_sub_task) return SubTaskName(ran.type);
  return chip.is_hwts() ? HwtsTypeName(ran.type) : SqeTypeName(ran.type, chip.is_v6());
}

}  // namespace

Records<int32_t> DeviceTables::Add(const DeviceLayer& layer, const Records<RanTask>& ran,
                                   const AiCpuCommunication& launched) {
  Records<int32_t> rows{base::SpillAllocator<int32_t>(rows_.pool())};
  rows.reserve(ran.size());
  ReserveMore(rows_.tasks, ran.size());
  ReserveMore(rows_.flows, ran.size() + ran.size() / 16);  // those of steps come on top
  int64_t before = 0;
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < ran.size(); ++i) {
    steps.Next();
    const RanTask& task = ran[i];
    const bool is_before = layer.clock().FromTicks(task.end) < layer.clock().began_ns;
    before += is_before ? 1 : 0;
    rows.push_back(is_before ? store::kNone : AddTask(layer, task, launched.PartOf(i)));
  }
  if (before > 0) rows_.issues.Add(kBeforeStart, "stars_soc", -1, before);
  TakeLaunched(layer, ran, rows, launched);
  return rows;
}

const HcclTask* DeviceTables::TransferOf(const RanTask& ran, const Part* part) const {
  if (part != nullptr) return part->facts;
  if (ran.host == nullptr || ran.host->transfer < 0) return nullptr;
  return &host_.transfers()[static_cast<size_t>(ran.host->transfer)];
}

int32_t DeviceTables::AddTask(const DeviceLayer& layer, const RanTask& ran, const Part* part) {
  ascend::DeviceTask task;
  task.ts = layer.clock().FromTicks(ran.begin);
  task.dur = SpanNs(task.ts, layer.clock().FromTicks(ran.end));
  if (process_ == store::kNone) process_ = rows_.Process(pid_);
  task.place = {.process_id = process_, .device_id = layer.device(), .stream_id = ran.place.stream};
  task.queue_number = static_cast<int64_t>(ran.place.task);
  task.track_id = StreamTrack(task.place);
  const HcclTask* transfer = TransferOf(ran, part);
  SetKind(layer, ran, transfer, task);
  const HostTask* host = ran.host;
  const bool is_part = host != nullptr && host->parent >= 0;
  if (transfer != nullptr) task.plane = part != nullptr ? part->plane : transfer->plane;
  const bool has_caller = host != nullptr && host->caller >= 0;
  task.connection_id = has_caller ? host_.IdOf(host->caller) : next_alone_++;
  const int32_t index = device_.AddTask(task);
  if (transfer != nullptr) AddTransfer(*transfer, index, task.kind.name);
  if (host == nullptr) return index;
  Connect(*host, rows_.tasks[static_cast<size_t>(index)], is_part);
  if (is_part && part == nullptr) TakePart(layer, *host, index);
  AddCopy(*host, rows_.tasks[static_cast<size_t>(index)].slice_id);
  AddAttributes(*host, rows_.tasks[static_cast<size_t>(index)].slice_id);
  return index;
}

int32_t DeviceTables::StreamTrack(const ascend::Place& place) {
  const auto [known, is_new] =
      stream_tracks_.try_emplace({place.device_id, place.stream_id}, store::kNone);
  if (is_new) known->second = device_.StreamTrack(place);
  return known->second;
}

// The host's type is more precise than that of the device's queue, except for parts of FFTS+.
void DeviceTables::SetKind(const DeviceLayer& layer, const RanTask& ran, const HcclTask* transfer,
                           ascend::DeviceTask& task) {
  const HostTask* host = ran.host;
  const bool by_host = host != nullptr && rows_.names.Text(host->type) != "FFTS_PLUS";
  const int32_t type = by_host ? host->type : rows_.names.Intern(TypeOf(layer.chip(), ran));
  const int32_t kernel = host != nullptr ? host->kernel : -1;
  int32_t name = type;
  if (kernel < 0 && transfer != nullptr) {
    const int32_t item = host_.dictionary().Text(transfer->item);
    if (item != store::kNone) name = item;
  }
  const int64_t model = host != nullptr ? host->model_id : -1;
  const auto [known, is_new] =
      kinds_.try_emplace({kernel, name, type, ran.context, model}, store::kNone);
  if (is_new) {
    store::TaskKindRow kind;
    if (kernel >= 0) kind = device_.KindOf(host_.kernels()[static_cast<size_t>(kernel)]);
    if (kind.name == store::kNone) kind.name = name;
    kind.task_type = type;
    kind.context_id = Known(ran.context);
    kind.model_id = model;
    known->second = rows_.Kind(kind);
  }
  task.kind_id = known->second;
  task.kind = rows_.kinds[static_cast<size_t>(known->second)];
}

void DeviceTables::Connect(const HostTask& host, store::DeviceTaskRow& row, bool is_part) {
  if (host.caller < 0) return;
  AddFlow(host.caller, row.slice_id);
  const Api& api = host_.apis()[static_cast<size_t>(host.caller)];
  row.step_id = steps_.At(host_.clock().FromTicks(api.begin));
  if (!is_part || host.kernel >= 0) row.launch_slice_id = OperatorOf(host.caller);
}

void DeviceTables::AddFlow(int32_t caller, int32_t slice) {
  store::FlowRow flow;
  if (flow_kind_ == store::kNone) flow_kind_ = rows_.names.Intern("host_to_device");
  flow.kind = flow_kind_;
  flow.key = host_.IdOf(caller);
  flow.slice_out = host_.SliceOf(caller);
  flow.slice_in = slice;
  rows_.flows.push_back(flow);
}

int32_t DeviceTables::OperatorOf(int32_t caller) {
  const Api& api = host_.apis()[static_cast<size_t>(caller)];
  return framework_.OperatorAt(api.tid, host_.clock().FromTicks(api.begin));
}

void DeviceTables::AddTransfer(const HcclTask& transfer, int32_t task, int32_t name) {
  const store::DeviceTaskRow& row = rows_.tasks[static_cast<size_t>(task)];
  ascend::TransferFacts facts;
  facts.numbers = {transfer.notify <= INT64_MAX ? static_cast<int64_t>(transfer.notify) : -1,
                   Known(transfer.local_rank), Known(transfer.remote_rank),
                   transfer.size <= INT64_MAX ? static_cast<int64_t>(transfer.size) : -1};
  facts.texts = {rows_.names.Intern(TransportName(transfer.transport)),
                 rows_.names.Intern(HcclTypeName(transfer.data_type)),
                 rows_.names.Intern(LinkName(transfer.link))};
  facts.bandwidth =
      row.dur > 0 ? static_cast<double>(transfer.size) / static_cast<double>(row.dur) : 0;
  device_.AddFacts(row.slice_id, name, facts);
}

// Under the names that timelines have for them.
void DeviceTables::AddCopy(const HostTask& host, int32_t slice) {
  if (rows_.names.Text(host.type) != "MEMCPY_ASYNC") return;
  const CopyInfo* copy = host_.CopyOf(*host.track);
  if (copy == nullptr || copy->size > INT64_MAX) return;
  int32_t& args = rows_.slices[static_cast<size_t>(slice)].args_id;
  if (args == store::kNone) args = rows_.next_args_id++;
  rows_.args_int.push_back({.args_id = args,
                            .key = rows_.names.Intern("size(B)"),
                            .value = static_cast<int64_t>(copy->size)});
  rows_.args_text.push_back({.args_id = args,
                             .key = rows_.names.Intern("operation"),
                             .form = 0,
                             .value = rows_.names.Intern(CopyName(copy->direction))});
}

void DeviceTables::AddAttributes(const HostTask& host, int32_t slice) {
  if (host.kernel < 0) return;
  const int32_t text = host_.kernels()[static_cast<size_t>(host.kernel)].attributes;
  if (text == store::kNone) return;
  const ascend::Argument argument{ascend::kAttributes, std::string(rows_.names.Text(text)),
                                  /*is_number=*/false};
  device_.AddArguments(slice, {&argument, 1});
}

// Begin and end of an operation are those of the tasks on its main stream.
void DeviceTables::TakePart(const DeviceLayer& layer, const HostTask& host, int32_t task) {
  Operation& op = operations_[{host.caller, layer.device(), 0}];
  op.device = layer.device();
  const int64_t host_time = host_.clock().FromTicks(host.track->head.time);
  op.host_time = std::min(op.host_time, host_time);
  if (host.transfer >= 0) {
    const HcclTask& transfer = host_.transfers()[static_cast<size_t>(host.transfer)];
    op.rank_size = Known(transfer.rank_size);
    if (op.group == store::kNone) op.group = host_.dictionary().Text(transfer.group);
    op.transfers.emplace_back(task, &transfer);
  }
  const Api& call = host_.apis()[static_cast<size_t>(host.parent)];
  const int32_t role = host_.dictionary().Type(call.level, call.type);
  if (host_.dictionary().View(role) == "master") TakeTime(layer, task, op);
}

void DeviceTables::TakeTime(const DeviceLayer& layer, int32_t task, Operation& op) const {
  const store::DeviceTaskRow& row = rows_.tasks[static_cast<size_t>(task)];
  op.begin = std::min(op.begin, row.ts);
  op.end = std::max(op.end, row.ts + row.dur);
  op.is_warm_up = op.begin < layer.clock().began_ns;
}

// An operation that the host knows is that of the call around the kernel's; a fused operator
// communicates in a group of its own.
void DeviceTables::TakeLaunched(const DeviceLayer& layer, const Records<RanTask>& ran,
                                const Records<int32_t>& rows, const AiCpuCommunication& launched) {
  std::vector<Operation*> operations;
  for (const AiCpuCommunication::Operation& found : launched.operations()) {
    const HostTask& kernel = *ran[found.kernel].host;
    const int32_t call = found.is_expanded ? host_.OuterNodeOf(kernel.caller) : kernel.caller;
    if (call != kernel.caller) operations_.erase({kernel.caller, layer.device(), 0});
    // Each run of a kernel is an operation of its own.
    const uint64_t number = found.kernel + 1;
    Operation& op = operations_[{call, layer.device(), found.is_expanded ? 0 : number}];
    op.device = layer.device();
    op.host_time = host_.clock().FromTicks(kernel.track->head.time);
    op.group_hash = found.group;
    op.group = host_.dictionary().Text(found.group);
    if (!found.is_expanded) {
      op.kernel = kernel.kernel;
      op.group = rows_.names.Intern(base::Concat(host_.dictionary().View(op.group), " Aicpu"));
    }
    op.facts = found.facts;
    if (found.facts != nullptr) op.rank_size = Known(found.facts->rank_size);
    operations.push_back(&op);
  }
  for (size_t i = 0; i < ran.size() && !operations.empty(); ++i) {
    const Part* part = launched.PartOf(i);
    if (part == nullptr || rows[i] == store::kNone) continue;
    Operation& op = *operations[part->operation];
    if (part->facts != nullptr) op.transfers.emplace_back(rows[i], part->facts);
    if (part->is_main) TakeTime(layer, rows[i], op);
  }
}

// Operations of a communicator are numbered from 0 in the order of their launch.
void DeviceTables::Finish() {
  std::vector<std::pair<int32_t, Operation*>> in_order;  // by call
  for (auto& [key, op] : operations_) {
    const int32_t caller = std::get<0>(key);
    const HcclOp* info = op.kernel < 0 ? host_.OperationOf(caller) : nullptr;
    if (info != nullptr) op.group = host_.dictionary().Text(info->group);
    if (op.end < 0 || caller < 0) {
      rows_.issues.Add(kNoMaster, "hccl_info");
    } else {
      in_order.emplace_back(caller, &op);
    }
  }
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return a.second->host_time < b.second->host_time;
  });
  std::map<std::pair<int32_t, int32_t>, int64_t> numbers;  // group, device
  for (const auto& [caller, op] : in_order) {
    int64_t& next = numbers[{op->group, op->device}];
    AddOperation(caller, *op, op->is_warm_up ? -1 : next++);
  }
  transfers_.Write(rows_);
  ascend::LeaveLaunches(rows_);
}

std::string DeviceTables::NameOf(int32_t caller, const Operation& op, int64_t number) {
  Dictionary& dictionary = host_.dictionary();
  const Api& api = host_.apis()[static_cast<size_t>(caller)];
  const int32_t name = op.kernel < 0 ? dictionary.Text(api.item)
                                     : host_.kernels()[static_cast<size_t>(op.kernel)].name;
  const int32_t group_name = op.kernel < 0 ? op.group : dictionary.Text(op.group_hash);
  const std::string_view group = dictionary.View(group_name);
  const std::string_view mark = group.substr(group.size() - std::min<size_t>(3, group.size()));
  return base::Concat(dictionary.View(name), "_", mark, "_", std::to_string(number), "_1");
}

// The host's description, or that of the device.
void DeviceTables::SetFacts(int32_t caller, const Operation& op, ascend::CommunicationOp& row) {
  Dictionary& dictionary = host_.dictionary();
  const NodeBasic* basic = host_.BasicOf(caller);
  if (op.kernel >= 0) {
    row.type = dictionary.View(host_.kernels()[static_cast<size_t>(op.kernel)].op_type);
  } else if (basic != nullptr) {
    row.type = dictionary.View(dictionary.Text(basic->op_type));
  }
  const HcclOp* info = op.kernel < 0 ? host_.OperationOf(caller) : nullptr;
  if (info == nullptr && op.facts != nullptr) info = &op.facts->facts;
  if (info == nullptr) return;
  row.data_type = rows_.names.Intern(HcclTypeName(info->data_type));
  row.algorithm = dictionary.Text(info->algorithm);
  row.count = info->count <= INT64_MAX ? static_cast<int64_t>(info->count) : -1;
}

void DeviceTables::AddOperation(int32_t caller, const Operation& op, int64_t number) {
  const Api& api = host_.apis()[static_cast<size_t>(caller)];
  ascend::CommunicationOp row{.ts = op.begin, .dur = op.end - op.begin};
  row.process_id = rows_.Process(pid_);
  row.device_id = op.device;
  row.name = rows_.names.Intern(NameOf(caller, op, number));
  if (op.group != store::kNone) row.group = host_.dictionary().View(op.group);
  SetFacts(caller, op, row);
  row.rank_size = op.rank_size;
  row.connection_id = host_.IdOf(caller);
  row.step_id = steps_.At(host_.clock().FromTicks(api.begin));
  row.launch_slice_id = OperatorOf(caller);
  bool has_size = true;
  const int32_t index = device_.AddOperation(row, has_size);
  if (!has_size) rows_.issues.Add(kBadRecord, "hccl_op_info");
  AddFlow(caller, rows_.communications[static_cast<size_t>(index)].slice_id);
  AddSums(index, op);
}

void DeviceTables::AddSums(int32_t operation, const Operation& op) {
  Dictionary& dictionary = host_.dictionary();
  for (const auto& [task, transfer] : op.transfers) {
    const int32_t item = dictionary.Text(transfer->item);
    constexpr uint64_t kLargest = uint64_t{1} << 50U;
    if (!ascend::TransferSums::MovesData(dictionary.View(item)) || transfer->size > kLargest) {
      continue;
    }
    const std::string link = LinkName(transfer->link);
    transfers_.Add({.operation = operation,
                    .transport = ascend::TransferSums::TransportOf(
                        rows_.names, link, rows_.names.Intern(TransportName(transfer->transport))),
                    .link = rows_.names.Intern(link),
                    .src_rank = KnownRank(transfer->local_rank),
                    .dst_rank = KnownRank(transfer->remote_rank),
                    .size = static_cast<int64_t>(transfer->size),
                    .dur_ns = rows_.tasks[static_cast<size_t>(task)].dur});
  }
}

}  // namespace sonde::importers::raw

// The tasks that the host launched, identified by device, stream, task, batch and context.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "importers/ascend_raw/ge_names.h"
#include "importers/ascend_raw/host_layer.h"

namespace sonde::importers::raw {
namespace {

constexpr uint64_t kFlip = 98;  // numbers of tasks restart
constexpr uint64_t kMaintenance = 6;
constexpr uint32_t kDestroyed = 0xFFFF;  // of a flip: the stream came to its end
constexpr uint32_t kFftsMarker = 6;      // task types of operators
constexpr uint32_t kAiCpu = 1;
constexpr uint32_t kCommunication = 9;
constexpr uint32_t kHcclAiCpu = 256;

bool IsKernelType(std::string_view type) {
  constexpr std::array<std::string_view, 6> kTypes = {"KERNEL_AICORE",  "KERNEL_AIVEC",
                                                      "KERNEL_AICPU",   "KERNEL_SIMT",
                                                      "KERNEL_MIX_AIC", "KERNEL_MIX_AIV"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

bool HasContexts(std::string_view type) {
  return type == "FFTS_PLUS" || (IsKernelType(type) && type != "KERNEL_AICPU");
}

struct Joined {
  std::string formats;
  std::string types;
  std::string shapes;
};

void Join(const Tensor& tensor, Joined& joined) {
  const char* separator = joined.types.empty() ? "" : ";";
  joined.formats += separator + FormatName(tensor.format);
  joined.types += separator + DataTypeName(tensor.type);
  joined.shapes += separator;
  for (size_t i = 0; i < tensor.shape.size() && tensor.shape.at(i) != 0; ++i) {
    joined.shapes += (i > 0 ? "," : "") + std::to_string(tensor.shape.at(i));
  }
}

}  // namespace

// Numbers of tasks have 16 bits: a flip marks their restart. It is sent between two tasks, so that
// tasks of the new round may come before it.
Records<uint32_t> HostLayer::BatchIds() {
  SortByTime(tracks_, rows_.pool());
  Records<uint32_t> batches = NoRecords<uint32_t>();
  batches.resize(tracks_.size(), 0);
  if (has_unique_ids_) return batches;
  struct OnStream {
    uint32_t batch = 0;
    int64_t last = -1;  // of tracks_
  };
  std::map<std::pair<uint16_t, uint16_t>, OnStream> streams;  // by device and stream
  Records<int64_t> before = NoRecords<int64_t>();             // the last one of the same stream
  before.resize(tracks_.size(), -1);
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < tracks_.size(); ++i) {
    steps.Next();
    const TaskTrack& track = tracks_[i];
    OnStream& stream = streams[{track.device, track.stream}];
    if (track.type != kFlip) {
      batches[i] = stream.batch;
      before[i] = stream.last;
      stream.last = static_cast<int64_t>(i);
      continue;
    }
    ++stream.batch;
    if (track.task >> 16U == kDestroyed) continue;
    const uint32_t first = track.task & 0xFFFFU;
    for (int64_t task = stream.last; task >= 0; task = before[static_cast<size_t>(task)]) {
      if ((tracks_[static_cast<size_t>(task)].task & 0xFFFFU) >= first) break;
      batches[static_cast<size_t>(task)] = stream.batch;
    }
  }
  return batches;
}

const HostLayer::TaskKind& HostLayer::TaskKindOf(const TaskTrack& track) {
  const auto [known, is_new] = task_kinds_.try_emplace(track.type);
  TaskKind& kind = known->second;
  if (!is_new) return kind;
  kind.name = dictionary_.Type(kLevelRuntime, static_cast<uint32_t>(track.type));
  const std::string_view name = dictionary_.View(kind.name);
  kind.is_compute = name.starts_with("KERNEL") || name == "STARS_COMMON";
  kind.is_ffts_plus = name == "FFTS_PLUS";
  kind.is_kernel = IsKernelType(name);
  kind.is_mix = name.starts_with("KERNEL_MIX");
  kind.has_contexts = HasContexts(name);
  return kind;
}

// Whether the call launches an operator.
bool HostLayer::IsOfOperator(int32_t node) {
  const Api& call = apis_[static_cast<size_t>(node)];
  return dictionary_.View(KnownOf(call).kind->name) != "step_info" &&
         !dictionary_.View(dictionary_.Text(call.item)).starts_with("Lccl");
}

void HostLayer::AddTask(const TaskTrack& track, uint32_t batch) {
  if (track.type == kFlip || track.type == kMaintenance || track.is_dpu) return;
  int32_t node = -1;
  int32_t model = -1;
  HostTask task{.track = &track,
                .number = has_unique_ids_ ? track.task : track.task & 0xFFFFU,
                .batch = batch};
  ForEachOpen(track.head.tid, track.head.time, [&](int32_t api) {
    const uint16_t level = apis_[static_cast<size_t>(api)].level;
    if (task.caller < 0) task.caller = api;
    if (level == kLevelNode && node < 0) node = api;
    if (level == kLevelModel && model < 0) model = api;
    if (level == kLevelCommunication && task.parent < 0) task.parent = api;
  });
  const TaskKind& kind = TaskKindOf(track);
  task.type = kind.name;
  if (model >= 0) {
    task.model_id = static_cast<int64_t>(apis_[static_cast<size_t>(model)].item);
  } else {
    task.model_id =
        captured_.ModelOf(track.device, track.stream, batch, track.head.time).value_or(-1);
  }
  const bool is_communication = task.parent >= 0;
  const bool is_compute = node >= 0 &&
                          (kind.is_compute || (kind.is_ffts_plus && !is_communication)) &&
                          IsOfOperator(node);
  if (node >= 0 && (is_compute || is_communication)) task.caller = node;
  if (is_communication) return AddCommunication(task, node, is_compute);
  if (is_compute) return AddCompute(task, node, kind);
  task.context = kind.is_mix && !has_unique_ids_ ? 0 : kNoContext;
  if (kind.is_kernel) task.kernel = KernelOfTrack(task);
  tasks_.push_back(task);
}

// A task for each context of the operator, and one for all of them, which is no operator.
void HostLayer::AddCompute(HostTask task, int32_t node, const TaskKind& kind) {
  task.kernel = KernelOf(node, *task.track, /*is_communication=*/false);
  const int32_t contexts = FactsOf(node).contexts;
  if (contexts < 0 || has_unique_ids_ || !kind.has_contexts) return tasks_.push_back(task);
  for (const uint32_t id : id_lists_[contexts_[static_cast<size_t>(contexts)].list]) {
    task.context = id;
    tasks_.push_back(task);
  }
  task.context = kNoContext;
  task.kernel = store::kNone;
  tasks_.push_back(task);
}

void HostLayer::AddCommunication(HostTask task, int32_t node, bool with_kernel) {
  if (with_kernel) task.kernel = KernelOf(node, *task.track, true);
  const Facts& facts = FactsOf(task.parent);
  std::map<uint32_t, int32_t> transfer_of;  // by context; of several the last before the task
  std::set<uint32_t> contexts;
  for (int32_t index = facts.first; index >= 0;) {
    const HcclTask& transfer = transfers_[static_cast<size_t>(index)];
    const auto [known, is_new] = transfer_of.try_emplace(transfer.context, index);
    if (!is_new && transfer.head.time <= task.track->head.time) known->second = index;
    index = transfer.next;
  }
  if (facts.contexts >= 0) {
    const std::vector<uint32_t>& ids =
        id_lists_[contexts_[static_cast<size_t>(facts.contexts)].list];
    constexpr uint32_t kMost = 65536;
    const bool is_range = ids.size() == 2 && ids[0] <= ids[1] && ids[1] - ids[0] < kMost;
    for (uint32_t id = is_range ? ids[0] : 1; is_range && id <= ids[1]; ++id) contexts.insert(id);
    contexts.insert(kNoContext);
  } else {
    for (const auto& [context, index] : transfer_of) contexts.insert(context);
  }
  if (contexts.empty()) contexts.insert(kNoContext);
  for (const uint32_t context : contexts) {
    const auto transfer = transfer_of.find(context);
    task.context = context;
    task.transfer = transfer == transfer_of.end() ? -1 : transfer->second;
    tasks_.push_back(task);
  }
}

int32_t HostLayer::KernelOf(int32_t node, const TaskTrack& track, bool is_communication) {
  Facts& facts = FactsAt(node);
  if (facts.kernel != kNotMade) return facts.kernel;
  facts.kernel = store::kNone;
  const Api& api = apis_[static_cast<size_t>(node)];
  const NodeBasic* basic = BasicOf(node);
  ascend::Kernel kernel;
  if (basic == nullptr) {  // level 0
    kernel.name = dictionary_.Text(api.item);
  } else if (basic->task_type == kFftsMarker) {
    return store::kNone;
  } else {
    const std::string_view type = dictionary_.View(TaskKindOf(track).name);
    uint32_t task_type = basic->task_type;
    SetTensors(facts, kernel);
    kernel.name = dictionary_.Text(is_communication ? api.item : basic->name);
    if (is_communication && type == "KERNEL_AICPU") task_type = kHcclAiCpu;
    if (is_communication && type == "KERNEL_AICORE") task_type = kCommunication;
    if (!is_communication && type == "KERNEL_AICPU" && task_type == kCommunication) {
      task_type = kAiCpu;
    }
    const auto [core, is_new] = core_names_.try_emplace(task_type);
    if (is_new) core->second = rows_.names.Intern(TaskTypeName(task_type));
    kernel.core = core->second;
    kernel.op_type = dictionary_.Text(basic->op_type);
    kernel.block_num = basic->blocks;
    kernel.mix_block_num = basic->mix_blocks;
    int32_t& state = state_names_.at(basic->is_dynamic ? 1 : 0);
    if (state == store::kNone) state = rows_.names.Intern(basic->is_dynamic ? "dynamic" : "static");
    kernel.op_state = state;
    int32_t& hf32 = hf32_names_.at(basic->is_hf32 ? 1 : 0);
    if (hf32 == store::kNone) hf32 = rows_.names.Intern(basic->is_hf32 ? "YES" : "NO");
    kernel.hf32 = hf32;
    if (facts.attributes >= 0) {
      const NodeAttributes& record = attributes_[static_cast<size_t>(facts.attributes)];
      kernel.attributes = dictionary_.Text(record.text);
    }
  }
  if (track.has_blocks) {
    kernel.block_num = track.blocks;
    kernel.mix_block_num = track.mix_blocks;
  }
  return facts.kernel = Keep(kernel);
}

// Of a task outside every operator only its own name is known, unless a captured graph has it.
int32_t HostLayer::KernelOfTrack(const HostTask& task) {
  const TaskTrack& track = *task.track;
  const CapturedOperator* op = captured_.OperatorOf(track.device, track.stream, task.number);
  ascend::Kernel kernel = op == nullptr ? ascend::Kernel() : KernelOfCaptured(*op);
  if (kernel.name == store::kNone) kernel.name = dictionary_.Text(track.kernel);
  if (kernel.name == store::kNone) return store::kNone;
  if (track.has_blocks) {
    kernel.block_num = track.blocks;
    kernel.mix_block_num = track.mix_blocks;
  }
  return Keep(kernel);
}

ascend::Kernel HostLayer::KernelOfCaptured(const CapturedOperator& op) {
  ascend::Kernel kernel;
  SetTexts(ReadTensors(op.tensors), kernel);
  kernel.name = dictionary_.Text(op.name);
  kernel.core = rows_.names.Intern(TaskTypeName(op.task_type));
  kernel.op_type = dictionary_.Text(op.op_type);
  kernel.block_num = op.blocks;
  kernel.mix_block_num = op.mix_blocks;
  kernel.hf32 = rows_.names.Intern(op.is_hf32 ? "YES" : "NO");
  kernel.attributes = dictionary_.Text(op.attributes);
  return kernel;
}

size_t HostLayer::KernelHash::operator()(const ascend::Kernel& kernel) const {
  uint64_t hash = 0;
  for (const int64_t part :
       {int64_t{kernel.name}, int64_t{kernel.op_type}, int64_t{kernel.core}, kernel.block_num,
        kernel.mix_block_num, int64_t{kernel.input_types}, int64_t{kernel.input_shapes},
        int64_t{kernel.output_shapes}, int64_t{kernel.op_state}, int64_t{kernel.attributes}}) {
    hash = base::HashCombine(hash, static_cast<uint64_t>(part));
  }
  return hash;
}

int32_t HostLayer::Keep(const ascend::Kernel& kernel) {
  const auto [known, is_new] =
      number_of_kernel_.try_emplace(kernel, static_cast<int32_t>(kernels_.size()));
  if (is_new) kernels_.push_back(kernel);
  return known->second;
}

// Nearly all operators have one record of tensors, and few lists of them are different.
void HostLayer::SetTensors(const Facts& facts, ascend::Kernel& kernel) {
  const auto at = [this](int32_t index) -> const KeptList& {
    return tensors_[static_cast<size_t>(index)];
  };
  if (facts.first >= 0 && at(facts.first).next < 0) {
    const int32_t list = at(facts.first).list;
    const auto [known, is_new] = texts_of_list_.try_emplace(list);
    if (is_new) SetTexts({&list, 1}, known->second);
    kernel = known->second;
    return;
  }
  std::vector<int32_t> lists;
  for (int32_t index = facts.first; index >= 0; index = at(index).next) {
    lists.push_back(at(index).list);
  }
  SetTexts(lists, kernel);
}

void HostLayer::SetTexts(std::span<const int32_t> lists, ascend::Kernel& kernel) {
  std::vector<Tensor> tensors;
  for (const int32_t list : lists) {
    tensors.insert(tensors.end(), tensor_lists_[list].begin(), tensor_lists_[list].end());
  }
  SetTexts(tensors, kernel);
}

void HostLayer::SetTexts(const std::vector<Tensor>& tensors, ascend::Kernel& kernel) {
  Joined inputs;
  Joined outputs;
  for (const Tensor& tensor : tensors) Join(tensor, tensor.is_output ? outputs : inputs);
  const auto set = [&](const Joined& joined, int32_t& formats, int32_t& types, int32_t& shapes) {
    if (joined.types.empty()) return;
    formats = rows_.names.Intern(joined.formats);
    types = rows_.names.Intern(joined.types);
    shapes = rows_.names.Intern(joined.shapes);
  };
  set(inputs, kernel.input_formats, kernel.input_types, kernel.input_shapes);
  set(outputs, kernel.output_formats, kernel.output_types, kernel.output_shapes);
}

}  // namespace sonde::importers::raw

// The tasks that the host launched, told apart by device, stream, task, batch and context.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "importers/ascend_raw/ge_names.h"
#include "importers/ascend_raw/host_layer.h"

namespace sonde::importers::raw {
namespace {

constexpr uint64_t kFlip = 98;  // numbers of tasks begin anew
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

// Numbers of tasks have 16 bits: a flip says that they begin anew. It is sent between two tasks, so
// that those of the new round may lie before it.
std::vector<uint32_t> HostLayer::BatchIds() {
  std::stable_sort(tracks_.begin(), tracks_.end(), [](const TaskTrack& a, const TaskTrack& b) {
    return a.head.time < b.head.time;
  });
  std::vector<uint32_t> batches(tracks_.size(), 0);
  if (has_unique_ids_) return batches;
  std::map<OnStream, std::vector<size_t>> tasks;
  std::map<OnStream, uint32_t> batch_of;
  for (size_t i = 0; i < tracks_.size(); ++i) {
    const TaskTrack& track = tracks_[i];
    const OnStream stream(track.device, track.stream);
    std::vector<size_t>& before = tasks[stream];
    uint32_t& batch = batch_of[stream];
    if (track.type != kFlip) {
      batches[i] = batch;
      before.push_back(i);
      continue;
    }
    ++batch;
    if (track.task >> 16U == kDestroyed) continue;
    const uint32_t first = track.task & 0xFFFFU;
    for (auto task = before.rbegin(); task != before.rend(); ++task) {
      if ((tracks_[*task].task & 0xFFFFU) >= first) break;
      batches[*task] = batch;
    }
  }
  return batches;
}

void HostLayer::AddTask(const TaskTrack& track, uint32_t batch) {
  if (track.type == kFlip || track.type == kMaintenance || track.is_dpu) return;
  int32_t node = -1;
  int32_t model = -1;
  HostTask task{.track = &track, .batch = batch};
  ForEachOpen(track.head.tid, track.head.time, [&](int32_t api) {
    const uint16_t level = apis_[static_cast<size_t>(api)].record.head.level;
    if (task.caller < 0) task.caller = api;
    if (level == kLevelNode && node < 0) node = api;
    if (level == kLevelModel && model < 0) model = api;
    if (level == kLevelCommunication && task.parent < 0) task.parent = api;
  });
  task.type = dictionary_.Type(kLevelRuntime, static_cast<uint32_t>(track.type));
  if (model >= 0) {
    task.model_id = static_cast<int64_t>(apis_[static_cast<size_t>(model)].record.item);
  }
  const std::string_view type = rows_.names.Text(task.type);
  const bool is_communication = task.parent >= 0;
  bool is_compute = node >= 0 && (type.starts_with("KERNEL") || type == "STARS_COMMON" ||
                                  (type == "FFTS_PLUS" && !is_communication));
  if (is_compute) {
    const ApiRecord& record = apis_[static_cast<size_t>(node)].record;
    const int32_t name = dictionary_.Type(record.head.level, record.head.type);
    is_compute = dictionary_.View(name) != "step_info" &&
                 !dictionary_.View(dictionary_.Text(record.item)).starts_with("Lccl");
  }
  if (node >= 0 && (is_compute || is_communication)) task.caller = node;
  if (is_communication) return AddCommunication(task, node, is_compute);
  if (is_compute) return AddCompute(task, node, false);
  task.context = type.starts_with("KERNEL_MIX") && !has_unique_ids_ ? 0 : kNoContext;
  if (IsKernelType(type)) task.kernel = KernelOfTrack(track);
  tasks_.push_back(task);
}

// A task for each context of the operator, and one that stands for them all and is no operator.
void HostLayer::AddCompute(HostTask task, int32_t node, bool is_communication) {
  task.kernel = KernelOf(node, *task.track, is_communication);
  const auto facts = node_facts_.find(node);
  const bool with_contexts = facts != node_facts_.end() && facts->second.contexts >= 0 &&
                             !has_unique_ids_ && HasContexts(rows_.names.Text(task.type));
  if (!with_contexts) return tasks_.push_back(task);
  for (const uint32_t id : contexts_[static_cast<size_t>(facts->second.contexts)].ids) {
    task.context = id;
    tasks_.push_back(task);
  }
  task.context = kNoContext;
  task.kernel = store::kNone;
  tasks_.push_back(task);
}

void HostLayer::AddCommunication(HostTask task, int32_t node, bool with_kernel) {
  if (with_kernel) task.kernel = KernelOf(node, *task.track, true);
  const auto facts = call_facts_.find(task.parent);
  std::map<uint32_t, int32_t> transfer_of;  // by context; of several the last before the task
  std::set<uint32_t> contexts;
  if (facts != call_facts_.end()) {
    for (const int32_t index : facts->second.transfers) {
      const HcclTask& transfer = transfers_[static_cast<size_t>(index)];
      const auto [known, is_new] = transfer_of.try_emplace(transfer.context, index);
      if (!is_new && transfer.head.time <= task.track->head.time) known->second = index;
    }
    if (facts->second.contexts >= 0) {
      const std::vector<uint32_t>& ids = contexts_[static_cast<size_t>(facts->second.contexts)].ids;
      constexpr uint32_t kMost = 65536;
      const bool is_range = ids.size() == 2 && ids[0] <= ids[1] && ids[1] - ids[0] < kMost;
      for (uint32_t id = is_range ? ids[0] : 1; is_range && id <= ids[1]; ++id) contexts.insert(id);
      contexts.insert(kNoContext);
    } else {
      for (const auto& [context, index] : transfer_of) contexts.insert(context);
    }
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
  const auto [known, is_new] = kernel_of_node_.try_emplace(node, store::kNone);
  if (!is_new) return known->second;
  const ApiRecord& api = apis_[static_cast<size_t>(node)].record;
  const NodeBasic* basic = BasicOf(node);
  ascend::Kernel kernel;
  if (basic == nullptr) {  // level 0
    kernel.name = dictionary_.Text(api.item);
  } else if (basic->task_type == kFftsMarker) {
    return store::kNone;
  } else {
    const std::string_view type =
        dictionary_.View(dictionary_.Type(kLevelRuntime, static_cast<uint32_t>(track.type)));
    uint32_t task_type = basic->task_type;
    kernel.name = dictionary_.Text(is_communication ? api.item : basic->name);
    if (is_communication && type == "KERNEL_AICPU") task_type = kHcclAiCpu;
    if (is_communication && type == "KERNEL_AICORE") task_type = kCommunication;
    if (!is_communication && type == "KERNEL_AICPU" && task_type == kCommunication) {
      task_type = kAiCpu;
    }
    kernel.core = rows_.names.Intern(TaskTypeName(task_type));
    kernel.op_type = dictionary_.Text(basic->op_type);
    kernel.block_num = basic->blocks;
    kernel.mix_block_num = basic->mix_blocks;
    kernel.op_state = rows_.names.Intern(basic->is_dynamic ? "dynamic" : "static");
    kernel.hf32 = rows_.names.Intern(basic->is_hf32 ? "YES" : "NO");
    SetTensors(node_facts_[node], kernel);
  }
  if (track.has_blocks) {
    kernel.block_num = track.blocks;
    kernel.mix_block_num = track.mix_blocks;
  }
  known->second = static_cast<int32_t>(kernels_.size());
  kernels_.push_back(kernel);
  return known->second;
}

// Of a task outside every operator only its own name is known.
int32_t HostLayer::KernelOfTrack(const TaskTrack& track) {
  ascend::Kernel kernel;
  kernel.name = dictionary_.Text(track.kernel);
  if (kernel.name == store::kNone) return store::kNone;
  if (track.has_blocks) {
    kernel.block_num = track.blocks;
    kernel.mix_block_num = track.mix_blocks;
  }
  kernels_.push_back(kernel);
  return static_cast<int32_t>(kernels_.size()) - 1;
}

void HostLayer::SetTensors(const NodeFacts& facts, ascend::Kernel& kernel) {
  Joined inputs;
  Joined outputs;
  for (const int32_t index : facts.tensors) {
    for (const Tensor& tensor : tensors_[static_cast<size_t>(index)].tensors) {
      Join(tensor, tensor.is_output ? outputs : inputs);
    }
  }
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

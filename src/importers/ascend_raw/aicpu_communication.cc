#include "importers/ascend_raw/aicpu_communication.h"

#include <algorithm>
#include <string_view>

namespace sonde::importers::raw {
namespace {

constexpr uint16_t kAicpuDestroyed = 0xFFFF;
constexpr uint16_t kMainQueue = 20;  // C_CORE_SQE: on the main stream only

// How often the numbers of a stream had restarted, by the flips' own numbers: those continue when a
// stream is destroyed and created again.
class Rounds {
 public:
  explicit Rounds(std::vector<TaskFlip> flips) : flips_(std::move(flips)) {
    std::ranges::stable_sort(flips_, [](const TaskFlip& a, const TaskFlip& b) {
      return std::tie(a.stream, a.time) < std::tie(b.stream, b.time);
    });
  }
  uint32_t At(uint16_t stream, uint64_t time) const {
    uint32_t round = 0;
    uint32_t destroyed = 0;
    auto flip = std::ranges::lower_bound(flips_, stream, {}, &TaskFlip::stream);
    for (; flip != flips_.end() && flip->stream == stream && flip->time <= time; ++flip) {
      if (flip->task == kAicpuDestroyed) {
        ++destroyed;
      } else {
        round = flip->flip;
      }
    }
    return round + destroyed;
  }

 private:
  std::vector<TaskFlip> flips_;
};

bool IsKernel(const RanTask& task, const HostLayer& host, const store::NamePool& names,
              const std::set<uint32_t>& kernel_streams) {
  if (task.host == nullptr || task.host->kernel < 0 || task.is_sub_task) return false;
  const std::string_view type = names.Text(task.host->type);
  const int32_t id = host.kernels()[static_cast<size_t>(task.host->kernel)].name;
  const std::string_view name = id < 0 ? std::string_view() : names.Text(id);
  if (type == "NOTIFY_WAIT" || type == "MEMCPY_ASYNC" || name == "hcomAicpuInit") return false;
  return name.ends_with("AicpuKernel") || kernel_streams.contains(task.place.stream);
}

}  // namespace

void AiCpuCommunication::Find(const DeviceLayer& device, const Records<RanTask>& ran,
                              const HostLayer& host, const store::NamePool& names) {
  if (groups_.empty()) return;
  FindKernels(ran, host, names);
  if (operations_.empty()) return;
  FindTransfers(device, ran);
  SetFacts(ran);
  SetTimes(ran);
  for (const CommunicationStreams& group : groups_) TakeParts(group, ran);
}

void AiCpuCommunication::FindKernels(const Records<RanTask>& ran, const HostLayer& host,
                                     const store::NamePool& names) {
  std::map<uint32_t, uint64_t> group_of_stream;
  std::set<uint32_t> streams;
  for (const CommunicationStreams& group : groups_) {
    group_of_stream[group.kernel_stream] = group.group;
    streams.insert(group.kernel_stream);
  }
  for (size_t i = 0; i < ran.size(); ++i) {
    if (!IsKernel(ran[i], host, names, streams)) continue;
    const auto group = group_of_stream.find(ran[i].place.stream);
    operations_.push_back({.kernel = i,
                           .begin = ran[i].begin,
                           .end = ran[i].end,
                           .group = group == group_of_stream.end() ? 0 : group->second});
  }
}

// The AI CPU's facts of the tasks on the streams of communicators.
void AiCpuCommunication::FindTransfers(const DeviceLayer& device, const Records<RanTask>& ran) {
  std::set<uint32_t> streams;
  for (const CommunicationStreams& group : groups_) {
    streams.insert(group.streams.begin(), group.streams.end());
  }
  const Rounds of_device(device.flips());
  for (size_t i = 0; i < ran.size(); ++i) {
    const TaskPlace& place = ran[i].place;
    if (ran[i].is_sub_task || !streams.contains(place.stream)) continue;
    const uint32_t round = of_device.At(place.stream, ran[i].begin);
    task_of_key_.emplace(Key{place.stream, place.task, round}, i);
  }
  const Rounds of_cpu(records_.flips);
  const auto task_of = [&](const auto& record) {
    const uint32_t round = of_cpu.At(record.place.stream, record.time);
    const auto found = task_of_key_.find({record.place.stream, record.place.task, round});
    return found == task_of_key_.end() ? ran.size() : found->second;
  };
  for (const AiCpuTransfer& transfer : records_.transfers) {
    const size_t task = task_of(transfer);
    if (task < ran.size()) facts_.emplace(task, &transfer.facts);
  }
  std::ranges::stable_sort(records_.markers, {}, &AiCpuMarker::time);
  for (const AiCpuMarker& marker : records_.markers) {
    if (marker.is_first) first_tasks_.insert(task_of(marker));
  }
  first_tasks_.erase(ran.size());
}

// The first record of the kernel's stream within its time has its facts. Streams with such records
// are those of HCCL's expansion.
void AiCpuCommunication::SetFacts(const Records<RanTask>& ran) {
  std::ranges::stable_sort(records_.operations, [](const AiCpuOperation& a, const auto& b) {
    return std::tie(a.stream, a.time) < std::tie(b.stream, b.time);
  });
  std::map<uint16_t, size_t> next;  // of records_.operations, by stream
  for (Operation& op : operations_) {
    const uint16_t stream = ran[op.kernel].place.stream;
    const auto& all = records_.operations;
    const auto first = std::ranges::lower_bound(all, stream, {}, &AiCpuOperation::stream);
    if (first == all.end() || first->stream != stream) continue;
    op.is_expanded = true;
    size_t& at = next.try_emplace(stream, static_cast<size_t>(first - all.begin())).first->second;
    while (at < all.size() && all[at].stream == stream && all[at].time < op.begin) ++at;
    if (at == all.size() || all[at].stream != stream || all[at].time > op.end) continue;
    op.facts = &all[at++];
    op.group = op.facts->facts.group;
  }
}

// An operation lasts from its first to its last task, where they are known.
void AiCpuCommunication::SetTimes(const Records<RanTask>& ran) {
  for (Operation& op : operations_) {
    const RanTask& kernel = ran[op.kernel];
    auto marker = std::ranges::lower_bound(records_.markers, kernel.begin, {}, &AiCpuMarker::time);
    for (; marker != records_.markers.end() && marker->time <= kernel.end; ++marker) {
      if (marker->kernel_stream != kernel.place.stream) continue;
      // Of several rounds the one that runs within the kernel's time or behind it.
      for (const auto& [key, task] : task_of_key_) {
        const auto& [stream, number, round] = key;
        if (stream != marker->place.stream || number != marker->place.task) continue;
        if (ran[task].end < kernel.begin) continue;
        if (marker->is_first) op.begin = ran[task].begin;
        op.end = std::max(op.begin, ran[task].end);
        break;
      }
    }
  }
}

// In the order of their ends each task belongs to the operation in whose time it ends.
void AiCpuCommunication::TakeParts(const CommunicationStreams& group, const Records<RanTask>& ran) {
  std::vector<size_t> tasks;
  for (const auto& [key, task] : task_of_key_) {
    if (std::ranges::find(group.streams, std::get<0>(key)) == group.streams.end()) continue;
    if (records_.transfers.empty() || facts_.contains(task)) tasks.push_back(task);
  }
  std::ranges::sort(tasks, [&](size_t a, size_t b) {
    return std::pair(ran[a].end, a) < std::pair(ran[b].end, b);
  });
  std::vector<size_t> operations;
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].group == group.group) operations.push_back(i);
  }
  std::ranges::stable_sort(operations, {}, [&](size_t i) { return operations_[i].begin; });
  size_t next = 0;
  for (const size_t number : operations) {
    const Operation& op = operations_[number];
    while (next < tasks.size() && ran[tasks[next]].end < op.begin) ++next;
    for (; next < tasks.size() && ran[tasks[next]].end <= op.end; ++next) {
      const size_t task = tasks[next];
      Part part = PartAt(task, op, group, ran[task]);
      part.operation = number;
      parts_.emplace(task, part);
    }
  }
}

AiCpuCommunication::Part AiCpuCommunication::PartAt(size_t task, const Operation& op,
                                                    const CommunicationStreams& group,
                                                    const RanTask& ran) {
  Part part;
  const auto facts = facts_.find(task);
  if (facts != facts_.end()) part.facts = facts->second;
  const bool is_first = first_tasks_.contains(task);
  if (is_first || ran.type == kMainQueue) {
    main_stream_[group.group] = ran.place.stream;
    part.is_main = !op.is_expanded;
  } else {
    const auto main = main_stream_.find(group.group);
    part.is_main = main != main_stream_.end() && main->second == ran.place.stream;
  }
  if (part.facts == nullptr) return part;
  const int64_t first = op.is_expanded ? 1 : 0;
  if (part.is_main || is_first) {
    part.plane = first;
    return part;
  }
  const auto [plane, is_new] = planes_.try_emplace({group.group, ran.place.stream}, 0);
  if (is_new) plane->second = ++next_plane_[group.group];
  part.plane = plane->second + first;
  return part;
}

}  // namespace sonde::importers::raw

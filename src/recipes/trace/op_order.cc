#include "recipes/trace/op_order.h"

#include <algorithm>
#include <queue>
#include <string_view>

namespace sonde::recipes {
namespace {

// The operators of each track in the order of their start, parents before children.
std::vector<std::vector<uint32_t>> OperatorsByTrack(const TraceData& data, bool with_steps) {
  std::vector<std::vector<uint32_t>> tracks(data.tracks.size());
  for (size_t track = 0; track < tracks.size(); ++track) {
    for (size_t i = data.track_begin[track]; i < data.track_begin[track + 1]; ++i) {
      const int32_t op = data.OpOf(data.preorder[i]);
      if (op < 0) continue;
      const int16_t scope = data.ops[static_cast<size_t>(op)].scope;
      if (!IsOperator(scope)) continue;
      if (!with_steps && static_cast<Scope>(scope) == Scope::kStep) continue;
      tracks[track].push_back(static_cast<uint32_t>(op));
    }
  }
  return tracks;
}

// By kind. torch_npu takes the type in the timeline, where older device tools call kernels of
// vector cores AI_CORE, too. Databases have the core alone, of level 0 the type of the runtime.
std::vector<bool> AiCoreKinds(const TraceData& data) {
  constexpr std::string_view kAiCore = "AI_CORE";
  const auto name = [&](int32_t id) {
    return id == store::kNone ? std::string_view() : data.Name(id);
  };
  std::vector<bool> kinds;
  kinds.reserve(data.kinds.size());
  for (const store::TaskKindRow& kind : data.kinds) {
    const std::string_view core = name(kind.core);
    const std::string_view type = name(kind.task_type);
    kinds.push_back(core == kAiCore || type == kAiCore ||
                    (core == "N/A" && type == "KERNEL_AICORE"));
  }
  return kinds;
}

}  // namespace

std::vector<uint32_t> OperatorsByStart(const TraceData& data, bool with_steps) {
  const std::vector<std::vector<uint32_t>> tracks = OperatorsByTrack(data, with_steps);
  struct Head {
    int64_t ts;
    size_t track;
    size_t position;
    bool operator>(const Head& other) const {
      return ts != other.ts ? ts > other.ts : track > other.track;
    }
  };
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto push = [&](size_t track, size_t position) {
    if (position == tracks[track].size()) return;
    heads.push({data.Slice(data.ops[tracks[track][position]].slice_id).ts, track, position});
  };
  size_t total = 0;
  for (size_t track = 0; track < tracks.size(); ++track) {
    total += tracks[track].size();
    push(track, 0);
  }
  std::vector<uint32_t> order;
  order.reserve(total);
  while (!heads.empty()) {
    const Head head = heads.top();
    heads.pop();
    const auto& ops = tracks[head.track];
    // As long as this track stays first, without the queue.
    const Head next = heads.empty() ? Head{INT64_MAX, SIZE_MAX, 0} : heads.top();
    size_t position = head.position;
    do {
      order.push_back(ops[position++]);
    } while (position < ops.size() &&
             !(Head{data.Slice(data.ops[ops[position]].slice_id).ts, head.track, 0} > next));
    push(head.track, position);
  }
  return order;
}

std::vector<int64_t> ChildDurationsNs(const TraceData& data) {
  std::vector<int64_t> sums(data.slices.size(), 0);
  for (const store::FrameworkOpRow& op : data.ops) {
    if (!IsOperator(op.scope)) continue;
    const store::SliceRow& slice = data.Slice(op.slice_id);
    if (slice.parent_id >= 0) {
      sums[static_cast<size_t>(slice.parent_id)] += data.DurationNs(slice);
    }
  }
  return sums;
}

DeviceTimes DeviceTimesNs(const TraceData& data, DeviceWork work) {
  DeviceTimes times;
  times.self_ns.assign(data.slices.size(), 0);
  const std::vector<bool> of_ai_core =
      work == DeviceWork::kAiCore ? AiCoreKinds(data) : std::vector<bool>();
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (task.launch_slice_id < 0) continue;
    if (work == DeviceWork::kAiCore && !of_ai_core[static_cast<size_t>(task.kind_id)]) continue;
    times.self_ns[static_cast<size_t>(task.launch_slice_id)] += task.dur;
  }
  if (work == DeviceWork::kAll) {
    for (const store::CommunicationOpRow& op : data.communications) {
      if (op.launch_slice_id < 0 || op.dur < 0) continue;
      times.self_ns[static_cast<size_t>(op.launch_slice_id)] += op.dur;
    }
  }
  times.total_ns = times.self_ns;
  for (size_t i = data.slices.size(); i-- > 0;) {
    const int32_t parent = data.slices[i].parent_id;
    if (parent >= 0) times.total_ns[static_cast<size_t>(parent)] += times.total_ns[i];
  }
  return times;
}

}  // namespace sonde::recipes

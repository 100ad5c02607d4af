#include "importers/chrome_trace/xla.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "importers/common/communication_names.h"
#include "importers/common/kernel_name.h"
#include "store/table_writer.h"

namespace sonde::importers::chrome_trace {
namespace {

using capture::TrackKind;
using trace_events::EventStage;
using trace_events::StagedSlice;
using trace_events::ThreadFacts;
using trace_events::TrackEntry;
using trace_events::TrackLabel;

constexpr std::string_view kDevice = "/device:";
constexpr std::string_view kStream = "Stream #";
constexpr std::string_view kSteps = "Steps";
constexpr std::string_view kOperations = "XLA Ops";

// "/device:GPU:0" -> 0, "Stream #13(Compute)" -> 13; -1: no number.
int32_t NumberAt(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
  const auto number = base::ParseInt64(digits);
  return number && *number <= INT32_MAX ? static_cast<int32_t>(*number) : store::kNone;
}

int32_t XlaDeviceOf(std::string_view process_name) {
  if (!process_name.starts_with(kDevice)) return store::kNone;
  const size_t colon = process_name.find(':', kDevice.size());
  return colon == std::string_view::npos ? store::kNone : NumberAt(process_name, colon + 1);
}

struct Work {
  int32_t slice_id = store::kNone;
  int64_t ts = 0;
};

// Slices of the lanes of devices, by time.
struct Lanes {
  std::vector<Work> work;
  std::vector<Work> steps;
};

// Steps are those of the first device: others repeat them.
Lanes LanesOf(EventStage& stage) {
  Lanes lanes;
  int32_t device_of_steps = store::kNone;
  for (const int32_t id : stage.arrangement().preorder) {
    const StagedSlice& slice = stage.Slice(id);
    const TrackEntry& track = stage.TrackOf(slice);
    if (track.device_id < 0) continue;
    if (track.stream_id >= 0) {
      lanes.work.push_back({id, slice.ts});
    } else if (track.name >= 0 && stage.names().Text(track.name) == kSteps) {
      if (device_of_steps < 0) device_of_steps = track.device_id;
      if (track.device_id == device_of_steps) lanes.steps.push_back({id, slice.ts});
    }
  }
  const auto by_time = [](const Work& a, const Work& b) { return a.ts < b.ts; };
  std::stable_sort(lanes.work.begin(), lanes.work.end(), by_time);
  std::stable_sort(lanes.steps.begin(), lanes.steps.end(), by_time);
  return lanes;
}

// "MemcpyH2D", "MemcpyD2H", "MemcpyD2D", "Memset"; all else computes or communicates.
std::string_view TaskTypeOf(std::string_view name) {
  if (name.starts_with("Memcpy") || name.starts_with("memcpy")) return "MEMCPY";
  return name.starts_with("Memset") || name.starts_with("memset") ? "MEMSET" : "KERNEL";
}

class XlaWriter {
 public:
  XlaWriter(EventStage& stage, const Lanes& lanes) : stage_(stage), lanes_(lanes) {}

  Status WriteSteps(store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::StepRow>::Open(transaction));
    for (const Work& step : lanes_.steps) {
      const auto number = base::ParseInt64(NameOf(step.slice_id));
      const StagedSlice& slice = stage_.Slice(step.slice_id);
      if (!number) continue;
      steps_.push_back({*number, slice.ts, stage_.End(slice)});
      writer.Append({.step_id = *number,
                     .rank = stage_.rank(),
                     .process_id = ProcessOf(slice),
                     .slice_id = step.slice_id,
                     .ts = slice.ts,
                     .dur = stage_.End(slice) - slice.ts});
    }
    return writer.Close();
  }

  Status WriteTasks(store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto writer,
                           store::TableWriter<store::DeviceTaskRow>::Open(transaction));
    std::map<std::pair<int32_t, int32_t>, int64_t> end_before;  // by process and device
    int32_t task_id = 0;
    for (const Work& work : lanes_.work) {
      const StagedSlice& slice = stage_.Slice(work.slice_id);
      const TrackEntry& track = stage_.TrackOf(slice);
      int64_t& before =
          end_before.try_emplace({track.process, track.device_id}, slice.ts).first->second;
      store::DeviceTaskRow row;
      row.task_id = task_id++;
      row.slice_id = work.slice_id;
      row.track_id = stage_.arrangement().track_ids[static_cast<size_t>(slice.track)];
      row.ts = slice.ts;
      row.dur = slice.dur;
      row.wait_ns = std::max<int64_t>(0, slice.ts - before);
      row.kind_id = KindOf(slice.name);
      row.step_id = StepAt(slice.ts);
      writer.Append(row);
      before = std::max(before, stage_.End(slice));
    }
    SONDE_RETURN_IF_ERROR(writer.Close());
    SONDE_ASSIGN_OR_RETURN(auto kinds, store::TableWriter<store::TaskKindRow>::Open(transaction));
    for (const store::TaskKindRow& row : kinds_) kinds.Append(row);
    return kinds.Close();
  }

  // The groups are not in the file: all are of one.
  Result<int64_t> WriteCollectives(store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto writer,
                           store::TableWriter<store::CommunicationOpRow>::Open(transaction));
    constexpr std::string_view kGroup = "default_group";
    int32_t count = 0;
    for (const Work& work : lanes_.work) {
      const StagedSlice& slice = stage_.Slice(work.slice_id);
      const std::string type = common::KernelCollective(NameOf(work.slice_id));
      if (type.empty()) continue;
      store::CommunicationOpRow row;
      row.communication_id = count;
      row.slice_id = work.slice_id;
      row.process_id = ProcessOf(slice);
      row.device_id = stage_.TrackOf(slice).device_id;
      row.ts = slice.ts;
      row.dur = slice.dur;
      const uint64_t hash = common::GroupHash(kGroup);
      row.name = stage_.names().Intern(common::CollectiveName(type, hash, count));
      row.op_type = stage_.names().Intern(type);
      row.group_name = stage_.names().Intern(kGroup);
      row.group_hash = static_cast<int64_t>(hash);
      row.is_p2p = common::IsPointToPoint(type) ? 1 : 0;
      row.step_id = StepAt(slice.ts);
      row.algorithm = stage_.names().Intern("xla");
      writer.Append(row);
      ++count;
    }
    SONDE_RETURN_IF_ERROR(writer.Close());
    return int64_t{count};
  }

 private:
  struct Step {
    int64_t number;
    int64_t ts;
    int64_t end;
  };

  std::string_view NameOf(int32_t slice_id) const {
    const int32_t name = stage_.Slice(slice_id).name;
    return name < 0 ? std::string_view() : stage_.names().Text(name);
  }
  int32_t ProcessOf(const StagedSlice& slice) const {
    const auto process = static_cast<size_t>(stage_.TrackOf(slice).process);
    return stage_.arrangement().process_ids[process];
  }
  int64_t StepAt(int64_t ts) const {
    const auto behind = std::upper_bound(steps_.begin(), steps_.end(), ts,
                                         [](int64_t t, const Step& step) { return t < step.ts; });
    if (behind == steps_.begin()) return store::kNone;
    const Step& step = *(behind - 1);
    return ts < step.end ? step.number : store::kNone;
  }
  int32_t KindOf(int32_t name) {
    const auto [place, is_new] =
        kind_of_name_.try_emplace(name, static_cast<int32_t>(kinds_.size()));
    if (!is_new) return place->second;
    const std::string text(name < 0 ? std::string_view() : stage_.names().Text(name));
    const std::string_view type = TaskTypeOf(text);
    store::TaskKindRow row;
    row.kind_id = place->second;
    row.name = name;
    row.task_type = stage_.names().Intern(type);
    row.op_type = stage_.names().Intern(type == "KERNEL" ? common::KernelFunction(text) : text);
    if (type == "KERNEL") {
      const bool computes = common::KernelCollective(text).empty();
      row.core = stage_.names().Intern(computes ? "GPU" : "COMMUNICATION");
    }
    kinds_.push_back(row);
    return row.kind_id;
  }

  EventStage& stage_;
  const Lanes& lanes_;
  std::vector<Step> steps_;  // by begin
  std::map<int32_t, int32_t> kind_of_name_;
  std::vector<store::TaskKindRow> kinds_;
};

}  // namespace

TrackLabel ChromeDialect::LabelTrack(const ThreadFacts& facts, uint8_t /*lane*/) const {
  TrackLabel label;
  const int32_t device = XlaDeviceOf(facts.process_name);
  if (device < 0) return label;
  label.kind = TrackKind::kSpan;
  label.device_id = device;
  const bool is_stream = facts.thread_name.starts_with(kStream);
  const bool is_tpu = facts.process_name.starts_with("/device:TPU:");
  if (is_stream || (is_tpu && facts.thread_name == kOperations)) {
    label.kind = TrackKind::kStream;
    label.stream_id = is_stream ? NumberAt(facts.thread_name, kStream.size()) : 0;
  }
  return label;
}

Status WriteXlaDevices(EventStage& stage, store::Transaction& transaction, ImportSummary& summary) {
  const Lanes lanes = LanesOf(stage);
  if (lanes.work.empty()) return {};
  XlaWriter writer(stage, lanes);
  SONDE_RETURN_IF_ERROR(writer.WriteSteps(transaction));
  SONDE_RETURN_IF_ERROR(writer.WriteTasks(transaction));
  SONDE_ASSIGN_OR_RETURN(summary.communication_ops, writer.WriteCollectives(transaction));
  summary.device_tasks = static_cast<int64_t>(lanes.work.size());
  return {};
}

}  // namespace sonde::importers::chrome_trace

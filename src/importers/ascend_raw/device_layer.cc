#include "importers/ascend_raw/device_layer.h"

#include <algorithm>
#include <unordered_map>

#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {

bool DeviceLayer::Read(const Stream& stream, bool expands_streams, const TakeOther& other) {
  if (stream.name == "stars_soc.data") {
    const RecordForm& form = chip_.is_v6() ? kStarsFormV6 : kStarsForm;
    ReadRecords(stream, form, rows_.issues, [&](std::string_view record) {
      const auto log = ReadStars(record, chip_, expands_streams);
      if (log) {
        logs_.push_back(*log);
      } else if (other) {
        other(record);
      }
    });
    return true;
  }
  if (stream.name == "ts_track.data") {
    ReadRecords(stream, kTrackForm, rows_.issues, [&](std::string_view record) {
      const auto flip = ReadFlip(record);
      if (!flip) return rows_.issues.Add(kTrackRecord, stream.name);
      flips_.push_back(*flip);
    });
    return true;
  }
  return false;
}

std::vector<RanTask> DeviceLayer::Join(HostLayer& host) {
  std::vector<RanTask> ran = Pair();
  std::map<Key, std::vector<HostTask*>> launched;
  std::unordered_map<uint32_t, uint16_t> stream_of;  // of unique numbers
  const auto device_of = [](const HostTask& task) {
    return static_cast<int32_t>(task.track->device);
  };
  for (HostTask& task : host.tasks()) {
    if (device_of(task) != device_) continue;
    const uint32_t number = chip_.is_v6() ? task.track->task : task.track->task & 0xFFFFU;
    stream_of.try_emplace(number, task.track->stream);
    launched[{task.track->stream, number, task.batch, task.context}].push_back(&task);
  }
  std::map<Key, std::vector<RanTask*>> by_key;
  for (RanTask& task : ran) {
    if (chip_.is_v6()) {
      const auto stream = stream_of.find(task.place.task);
      task.place.stream = stream == stream_of.end() ? 0xFFFF : stream->second;
    }
    by_key[{task.place.stream, task.place.task, task.batch, task.context}].push_back(&task);
  }
  for (const auto& [key, tasks] : by_key) {
    const auto found = launched.find(key);
    if (found == launched.end()) continue;
    if (found->second.size() > 1 && tasks.size() > 1) {
      rows_.issues.Add(kTaskAmbiguous, "stars_soc", -1, static_cast<int64_t>(tasks.size()));
      continue;
    }
    for (RanTask* task : tasks) task->host = found->second.front();
  }
  // A task before its parts.
  std::stable_sort(ran.begin(), ran.end(), [](const RanTask& a, const RanTask& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  return ran;
}

// Of a key as many begins as ends belong together in their order; else an end belongs to the last
// begin before it.
std::vector<RanTask> DeviceLayer::Pair() {
  std::stable_sort(logs_.begin(), logs_.end(),
                   [](const StarsLog& a, const StarsLog& b) { return a.time < b.time; });
  struct Ends {
    std::vector<const StarsLog*> begins;
    std::vector<const StarsLog*> ends;
  };
  std::map<std::tuple<uint16_t, uint32_t, uint32_t>, Ends> by_key;
  for (const StarsLog& log : logs_) {
    Ends& ends = by_key[{log.place.stream, log.place.task, log.context}];
    (log.is_begin ? ends.begins : ends.ends).push_back(&log);
  }
  std::vector<RanTask> tasks;
  for (const auto& [key, ends] : by_key) PairOf(ends.begins, ends.ends, tasks);
  SetBatches(tasks);
  return tasks;
}

void DeviceLayer::PairOf(const std::vector<const StarsLog*>& begins,
                         const std::vector<const StarsLog*>& ends, std::vector<RanTask>& tasks) {
  const auto add = [&](const StarsLog& begin, const StarsLog& end) {
    tasks.push_back({.begin = begin.time,
                     .end = end.time,
                     .place = begin.place,
                     .context = begin.context,
                     .type = begin.type,
                     .is_sub_task = begin.is_sub_task});
  };
  size_t paired = 0;
  if (begins.size() == ends.size()) {
    for (size_t i = 0; i < begins.size(); ++i) {
      if (ends[i]->time < begins[i]->time) continue;
      add(*begins[i], *ends[i]);
      ++paired;
    }
  } else {
    for (size_t i = 0, j = 0; i < begins.size() && j < ends.size();) {
      const bool is_after = ends[j]->time >= begins[i]->time;
      const bool is_before_next = i + 1 == begins.size() || ends[j]->time < begins[i + 1]->time;
      if (is_after && is_before_next) {
        add(*begins[i++], *ends[j++]);
        ++paired;
      } else if (is_after) {
        ++i;
      } else {
        ++j;
      }
    }
  }
  const auto alone = static_cast<int64_t>(begins.size() + ends.size() - 2 * paired);
  if (alone > 0) rows_.issues.Add(kTaskUnpaired, "stars_soc", -1, alone);
}

// Numbers of tasks begin anew at each flip of their stream. It is recorded a little late: tasks
// before it whose numbers are those of the new round belong to that.
void DeviceLayer::SetBatches(std::vector<RanTask>& tasks) {
  if (chip_.is_v6() || flips_.empty()) return;
  constexpr uint16_t kDestroyed = 0xFFFF;
  std::map<uint16_t, std::vector<RanTask*>> by_stream;
  for (RanTask& task : tasks) by_stream[task.place.stream].push_back(&task);
  std::stable_sort(flips_.begin(), flips_.end(),
                   [](const TaskFlip& a, const TaskFlip& b) { return a.time < b.time; });
  for (auto& [stream, list] : by_stream) {
    std::stable_sort(list.begin(), list.end(),
                     [](const RanTask* a, const RanTask* b) { return a->begin < b->begin; });
    uint32_t batch = 0;
    size_t next = 0;  // the first task without a batch
    for (const TaskFlip& flip : flips_) {
      if (flip.stream != stream) continue;
      size_t boundary = next;
      while (boundary < list.size() && list[boundary]->begin <= flip.time) ++boundary;
      if (flip.task != 0 && flip.task != kDestroyed) {
        while (boundary > next && list[boundary - 1]->place.task <= flip.task) --boundary;
      }
      for (; next < boundary; ++next) list[next]->batch = batch;
      ++batch;
    }
    for (; next < list.size(); ++next) list[next]->batch = batch;
  }
}

}  // namespace sonde::importers::raw

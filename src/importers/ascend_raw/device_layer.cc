#include "importers/ascend_raw/device_layer.h"

#include <algorithm>
#include <compare>
#include <tuple>
#include <utility>

#include "importers/ascend_raw/issues.h"
#include "importers/rows/number_table.h"

namespace sonde::importers::raw {
namespace {

// Compared by the million: two numbers, not four fields.
struct Key {
  uint64_t place = 0;  // stream, task
  uint64_t part = 0;   // batch, context
  auto operator<=>(const Key&) const = default;
};
Key KeyOf(uint16_t stream, uint32_t task, uint32_t batch, uint32_t context) {
  return {uint64_t{stream} << 32U | task, uint64_t{batch} << 32U | context};
}

Key KeyOf(const RanTask& task) {
  return KeyOf(task.place.stream, task.place.task, task.batch, task.context);
}
Key PlaceOf(const StarsLog& log) { return KeyOf(log.place.stream, log.place.task, 0, log.context); }

struct Launched {
  Key key = {};
  uint32_t index = 0;  // of the host's tasks
  auto operator<=>(const Launched&) const = default;
};

// What the host launched on the device in the order of keys; of one key in that of the launches.
Records<Launched> LaunchedOn(int32_t device, const Records<HostTask>& tasks,
                             base::SpillPool* pool) {
  Records<Launched> launched{base::SpillAllocator<Launched>(pool)};
  base::SpillSteps steps(pool);
  for (size_t i = 0; i < tasks.size(); ++i) {
    steps.Next();
    const HostTask& task = tasks[i];
    if (static_cast<int32_t>(task.track->device) != device) continue;
    launched.push_back({KeyOf(task.track->stream, task.number, task.batch, task.context),
                        static_cast<uint32_t>(i)});
  }
  std::sort(launched.begin(), launched.end());
  return launched;
}

}  // namespace

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
  if (chip_.is_hwts() && (stream.name == "hwts.data" || stream.name == "hwts.aiv_data")) {
    ReadRecords(stream, kHwtsForm, rows_.issues, [&](std::string_view record) {
      if (const auto log = ReadHwts(record)) logs_.push_back(*log);
    });
    return true;
  }
  if (stream.name == "ts_track.data" || stream.name == "ts_track.aiv_data") {
    ReadRecords(stream, kTrackForm, rows_.issues, [&](std::string_view record) {
      if (const auto flip = ReadFlip(record)) return flips_.push_back(*flip);
      const auto step = ReadTrackStep(record, chip_);
      if (!step) return rows_.issues.Add(kTrackRecord, stream.name);
      steps_.push_back(*step);
    });
    return true;
  }
  return false;
}

Records<RanTask> DeviceLayer::Join(const HostLayer& host) {
  Records<RanTask> ran = Pair();
  if (chip_.is_v6()) SetStreams(host, ran);
  const Records<Launched> launched = LaunchedOn(device_, host.tasks(), rows_.pool());
  base::SpillSteps steps(rows_.pool());
  std::sort(ran.begin(), ran.end(), [](const RanTask& a, const RanTask& b) {
    return std::pair(KeyOf(a), a.begin) < std::pair(KeyOf(b), b.begin);
  });
  size_t next = 0;  // of launched
  for (size_t begin = 0, end = 0; begin < ran.size(); begin = end) {
    const Key key = KeyOf(ran[begin]);
    for (end = begin + 1; end < ran.size() && KeyOf(ran[end]) == key; ++end) steps.Next();
    while (next < launched.size() && launched[next].key < key) ++next;
    if (next == launched.size() || launched[next].key != key) continue;
    const bool are_several = next + 1 < launched.size() && launched[next + 1].key == key;
    if (are_several && end - begin > 1) {
      rows_.issues.Add(kTaskAmbiguous, "stars_soc", -1, static_cast<int64_t>(end - begin));
      continue;
    }
    const HostTask* host_task = &host.tasks()[launched[next].index];
    for (size_t i = begin; i < end; ++i) ran[i].host = host_task;
  }
  // A task before its parts.
  std::sort(ran.begin(), ran.end(), [](const RanTask& a, const RanTask& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end > b.end : KeyOf(a) < KeyOf(b);
  });
  return ran;
}

// Unique numbers stand without their stream.
void DeviceLayer::SetStreams(const HostLayer& host, Records<RanTask>& tasks) {
  NumberTable<uint16_t> stream_of(rows_.pool());
  for (const HostTask& task : host.tasks()) {
    if (static_cast<int32_t>(task.track->device) == device_) {
      stream_of.Insert(task.track->task, task.track->stream);
    }
  }
  for (RanTask& task : tasks) {
    const uint16_t* stream = stream_of.Find(task.place.task);
    task.place.stream = stream == nullptr ? 0xFFFF : *stream;
  }
}

// Of a place as many begins as ends belong together in their order; else an end belongs to the last
// begin before it.
Records<RanTask> DeviceLayer::Pair() {
  for (size_t i = 0; i < logs_.size(); ++i) logs_[i].order = static_cast<uint32_t>(i);
  std::sort(logs_.begin(), logs_.end(), [](const StarsLog& a, const StarsLog& b) {
    return std::tuple(PlaceOf(a), a.time, a.order) < std::tuple(PlaceOf(b), b.time, b.order);
  });
  Records<RanTask> tasks = NoRecords<RanTask>();
  tasks.reserve(logs_.size() / 2);
  base::SpillSteps steps(rows_.pool());
  std::vector<const StarsLog*> begins;
  std::vector<const StarsLog*> ends;
  for (size_t i = 0; i < logs_.size();) {
    begins.clear();
    ends.clear();
    const Key place = PlaceOf(logs_[i]);
    for (; i < logs_.size() && PlaceOf(logs_[i]) == place; ++i) {
      steps.Next();
      (logs_[i].is_begin ? begins : ends).push_back(&logs_[i]);
    }
    PairOf(begins, ends, tasks);
  }
  logs_ = NoRecords<StarsLog>();
  SetBatches(tasks);
  return tasks;
}

void DeviceLayer::PairOf(std::span<const StarsLog* const> begins,
                         std::span<const StarsLog* const> ends, Records<RanTask>& tasks) {
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
void DeviceLayer::SetBatches(Records<RanTask>& tasks) {
  if (chip_.is_v6() || flips_.empty()) return;
  constexpr uint16_t kDestroyed = 0xFFFF;
  std::sort(tasks.begin(), tasks.end(), [](const RanTask& a, const RanTask& b) {
    return std::tuple(a.place.stream, a.begin, a.place.task, a.context, a.end) <
           std::tuple(b.place.stream, b.begin, b.place.task, b.context, b.end);
  });
  std::stable_sort(flips_.begin(), flips_.end(), [](const TaskFlip& a, const TaskFlip& b) {
    return a.stream != b.stream ? a.stream < b.stream : a.time < b.time;
  });
  auto flip = flips_.begin();
  base::SpillSteps steps(rows_.pool());
  for (size_t next = 0, end = 0; next < tasks.size(); next = end) {
    const uint16_t stream = tasks[next].place.stream;
    for (end = next; end < tasks.size() && tasks[end].place.stream == stream; ++end) steps.Next();
    while (flip != flips_.end() && flip->stream < stream) ++flip;
    uint32_t batch = 0;
    for (; flip != flips_.end() && flip->stream == stream; ++flip) {
      size_t boundary = next;
      while (boundary < end && tasks[boundary].begin <= flip->time) ++boundary;
      if (flip->task != 0 && flip->task != kDestroyed) {
        while (boundary > next && tasks[boundary - 1].place.task <= flip->task) --boundary;
      }
      for (; next < boundary; ++next) tasks[next].batch = batch;
      ++batch;
    }
    for (; next < end; ++next) tasks[next].batch = batch;
  }
}

}  // namespace sonde::importers::raw

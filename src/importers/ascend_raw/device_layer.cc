#include "importers/ascend_raw/device_layer.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "importers/ascend_raw/issues.h"
#include "importers/common/search_from.h"
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

struct KeyHash {
  size_t operator()(const Key& key) const { return base::HashCombine(key.place, key.part); }
};

RanTask Ran(const StarsLog& begin, uint64_t end) {
  return {.begin = begin.time,
          .end = end,
          .place = begin.place,
          .context = begin.context,
          .type = begin.type,
          .is_sub_task = begin.is_sub_task};
}

// Places of rows when they are grouped by stream, in the order in which they came: Count for each,
// Begin, then Take for each.
class StreamSlots {
 public:
  void Count(uint16_t stream) { ++next_[size_t{stream} + 1]; }
  void Begin() { std::partial_sum(next_.begin(), next_.end(), next_.begin()); }
  uint32_t Take(uint16_t stream) { return next_[stream]++; }
  uint32_t count() const { return next_.back(); }

 private:
  std::vector<uint32_t> next_ = std::vector<uint32_t>(size_t{UINT16_MAX} + 2);
};

// The host's tasks on a device, sorted by their key: on each stream that is mostly the order in
// which they were launched.
class LaunchedTasks {
 public:
  struct Launched {
    Key key = {};
    uint32_t index = 0;  // of the host's tasks
    uint32_t runs = 0;
    bool operator<(const Launched& other) const {
      return std::tie(key, index) < std::tie(other.key, other.index);
    }
  };

  LaunchedTasks(int32_t device, const Records<HostTask>& tasks, base::SpillPool* pool)
      : launched_(base::SpillAllocator<Launched>(pool)) {
    StreamSlots slots;
    const auto is_here = [&](const HostTask& task) {
      return static_cast<int32_t>(task.track->device) == device;
    };
    base::SpillSteps steps(pool);
    for (const HostTask& task : tasks) {
      steps.Next();
      if (is_here(task)) slots.Count(task.track->stream);
    }
    slots.Begin();
    launched_.resize(slots.count());
    for (size_t i = 0; i < tasks.size(); ++i) {
      steps.Next();
      const HostTask& task = tasks[i];
      if (!is_here(task)) continue;
      launched_[slots.Take(task.track->stream)] = {
          .key = OrderOf(task.track->stream, task.number, task.batch, task.context),
          .index = static_cast<uint32_t>(i)};
    }
    const std::less<> before;
    if (!base::IsSorted(launched_.begin(), launched_.end(), pool, before)) {
      std::sort(launched_.begin(), launched_.end(), before);
    }
  }

  // The first of those that may have launched it, null where there is none.
  Launched* Find(const RanTask& task) {
    const Key key = OrderOf(task.place.stream, task.place.task, task.batch, task.context);
    size_t& last = last_[task.place.stream];
    last = SearchFrom(launched_, last, [&](const Launched& one) { return one.key < key; });
    return last < launched_.size() && launched_[last].key == key ? &launched_[last] : nullptr;
  }
  bool IsOneOfSeveral(const Launched& one) const {
    const auto next = static_cast<size_t>(&one - launched_.data()) + 1;
    return next < launched_.size() && launched_[next].key == one.key;
  }

 private:
  static Key OrderOf(uint16_t stream, uint32_t task, uint32_t batch, uint32_t context) {
    return {uint64_t{stream} << 32U | batch, uint64_t{task} << 32U | context};
  }

  Records<Launched> launched_;
  std::vector<size_t> last_ = std::vector<size_t>(size_t{UINT16_MAX} + 1);  // search, by stream
};

// The tasks of each stream in their order, one stream behind the other.
Records<uint32_t> ByStream(const Records<RanTask>& tasks, base::SpillPool* pool) {
  StreamSlots slots;
  for (const RanTask& task : tasks) slots.Count(task.place.stream);
  slots.Begin();
  Records<uint32_t> order{base::SpillAllocator<uint32_t>(pool)};
  order.resize(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    order[slots.Take(tasks[i].place.stream)] = static_cast<uint32_t>(i);
  }
  const auto before = [&](uint32_t one, uint32_t other) {
    const RanTask& a = tasks[one];
    const RanTask& b = tasks[other];
    return std::tuple(a.place.stream, a.begin, a.place.task, a.context, a.end) <
           std::tuple(b.place.stream, b.begin, b.place.task, b.context, b.end);
  };
  if (!base::IsSorted(order.begin(), order.end(), pool, before)) {
    std::sort(order.begin(), order.end(), before);
  }
  return order;
}

}  // namespace

bool DeviceLayer::Read(const Stream& stream, bool expands_streams, const TakeOther& other) {
  if (stream.name == "stars_soc.data") {
    const RecordForm& form = chip_.is_v6() ? kStarsFormV6 : kStarsForm;
    ReserveFor(stream, form, logs_);
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
    ReserveFor(stream, kHwtsForm, logs_);
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
  // A task before its parts.
  const auto before = [](const RanTask& a, const RanTask& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end > b.end : KeyOf(a) < KeyOf(b);
  };
  if (!base::IsSorted(ran.begin(), ran.end(), rows_.pool(), before)) {
    std::sort(ran.begin(), ran.end(), before);
  }
  SetHosts(host, ran);
  return ran;
}

// Where the host launched several tasks with one key, and several ran, they cannot be matched.
void DeviceLayer::SetHosts(const HostLayer& host, Records<RanTask>& tasks) {
  LaunchedTasks launched(device_, host.tasks(), rows_.pool());
  bool are_several = false;
  base::SpillSteps steps(rows_.pool());
  for (RanTask& task : tasks) {
    steps.Next();
    LaunchedTasks::Launched* one = launched.Find(task);
    if (one == nullptr) continue;
    task.host = &host.tasks()[one->index];
    ++one->runs;
    are_several |= one->runs > 1 && launched.IsOneOfSeveral(*one);
  }
  for (RanTask& task : tasks) {
    steps.Next();
    if (!are_several) break;
    const LaunchedTasks::Launched* one = launched.Find(task);
    if (one == nullptr || one->runs < 2 || !launched.IsOneOfSeveral(*one)) continue;
    task.host = nullptr;
    rows_.issues.Add(kTaskAmbiguous, "stars_soc");
  }
}

// Unique numbers have no stream.
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

void DeviceLayer::SortLogs() {
  for (size_t i = 0; i < logs_.size(); ++i) logs_[i].order = static_cast<uint32_t>(i);
  const auto before = [](const StarsLog& a, const StarsLog& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  };
  if (!base::IsSorted(logs_.begin(), logs_.end(), rows_.pool(), before)) {
    std::sort(logs_.begin(), logs_.end(), before);
  }
}

// A begin and the next end of the same place. Places where another begin comes in between, or an
// end without a begin, are matched as a whole.
Records<RanTask> DeviceLayer::Pair() {
  SortLogs();
  Records<RanTask> tasks = NoRecords<RanTask>();
  tasks.reserve(logs_.size() / 2);
  std::unordered_map<Key, uint32_t, KeyHash> open;  // index of tasks, by place
  std::unordered_set<Key, KeyHash> irregular;
  base::SpillSteps steps(rows_.pool());
  for (const StarsLog& log : logs_) {
    steps.Next();
    const Key place = PlaceOf(log);
    if (log.is_begin) {
      const bool is_new = open.try_emplace(place, static_cast<uint32_t>(tasks.size())).second;
      if (is_new) tasks.push_back(Ran(log, log.time));
      if (!is_new) irregular.insert(place);
      continue;
    }
    const auto begin = open.find(place);
    if (begin == open.end()) {
      irregular.insert(place);
    } else {
      tasks[begin->second].end = log.time;
      open.erase(begin);
    }
  }
  for (const auto& [place, index] : open) irregular.insert(place);
  if (!irregular.empty()) {
    std::erase_if(tasks, [&](const RanTask& task) {
      steps.Next();
      return irregular.contains(KeyOf(task.place.stream, task.place.task, 0, task.context));
    });
    PairIrregular(irregular, tasks);
  }
  logs_ = NoRecords<StarsLog>();
  SetBatches(tasks);
  return tasks;
}

// Of a place as many begins as ends belong together in their order; else an end belongs to the last
// begin before it.
template <class Places>
void DeviceLayer::PairIrregular(const Places& places, Records<RanTask>& tasks) {
  base::SpillSteps steps(rows_.pool());
  std::erase_if(logs_, [&](const StarsLog& log) {
    steps.Next();
    return !places.contains(PlaceOf(log));
  });
  std::sort(logs_.begin(), logs_.end(), [](const StarsLog& a, const StarsLog& b) {
    return std::tuple(PlaceOf(a), a.time, a.order) < std::tuple(PlaceOf(b), b.time, b.order);
  });
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
}

void DeviceLayer::PairOf(std::span<const StarsLog* const> begins,
                         std::span<const StarsLog* const> ends, Records<RanTask>& tasks) {
  size_t paired = 0;
  if (begins.size() == ends.size()) {
    for (size_t i = 0; i < begins.size(); ++i) {
      if (ends[i]->time < begins[i]->time) continue;
      tasks.push_back(Ran(*begins[i], ends[i]->time));
      ++paired;
    }
  } else {
    for (size_t i = 0, j = 0; i < begins.size() && j < ends.size();) {
      const bool is_after = ends[j]->time >= begins[i]->time;
      const bool is_before_next = i + 1 == begins.size() || ends[j]->time < begins[i + 1]->time;
      if (is_after && is_before_next) {
        tasks.push_back(Ran(*begins[i++], ends[j++]->time));
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

// Numbers of tasks restart at each flip of their stream. It is recorded a little late: tasks before
// it whose numbers are those of the new round belong to that.
void DeviceLayer::SetBatches(Records<RanTask>& tasks) {
  if (chip_.is_v6() || flips_.empty()) return;
  constexpr uint16_t kDestroyed = 0xFFFF;
  const Records<uint32_t> order = ByStream(tasks, rows_.pool());
  const auto at = [&](size_t i) -> RanTask& { return tasks[order[i]]; };
  std::stable_sort(flips_.begin(), flips_.end(), [](const TaskFlip& a, const TaskFlip& b) {
    return a.stream != b.stream ? a.stream < b.stream : a.time < b.time;
  });
  auto flip = flips_.begin();
  base::SpillSteps steps(rows_.pool());
  for (size_t next = 0, end = 0; next < tasks.size(); next = end) {
    const uint16_t stream = at(next).place.stream;
    for (end = next; end < tasks.size() && at(end).place.stream == stream; ++end) steps.Next();
    while (flip != flips_.end() && flip->stream < stream) ++flip;
    uint32_t batch = 0;
    for (; flip != flips_.end() && flip->stream == stream; ++flip) {
      size_t boundary = next;
      while (boundary < end && at(boundary).begin <= flip->time) ++boundary;
      if (flip->task != 0 && flip->task != kDestroyed) {
        while (boundary > next && at(boundary - 1).place.task <= flip->task) --boundary;
      }
      for (; next < boundary; ++next) at(next).batch = batch;
      ++batch;
    }
    for (; next < end; ++next) at(next).batch = batch;
  }
}

}  // namespace sonde::importers::raw

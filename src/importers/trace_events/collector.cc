#include "importers/trace_events/collector.h"

#include <charconv>

#include "base/strings.h"
#include "importers/import_watch.h"
#include "importers/trace_events/issues.h"

namespace sonde::importers::trace_events {
namespace {

// Moments up to the year 2096 and lengths up to 31 years: sums with a base stay within 64 bits.
constexpr int64_t kMaxTime = 4'000'000'000'000'000'000;
constexpr int64_t kMaxDuration = 1'000'000'000'000'000'000;

// A decimal or hexadecimal number as such, else a hash.
int64_t NumberOf(std::string_view id) {
  const bool is_hex = id.starts_with("0x") || id.starts_with("0X");
  const std::string_view digits = is_hex ? id.substr(2) : id;
  const char* const end = digits.data() + digits.size();
  if (int64_t number = 0; !digits.empty()) {
    const auto result = std::from_chars(digits.data(), end, number, is_hex ? 16 : 10);
    if (result.ec == std::errc() && result.ptr == end) return number;
  }
  return static_cast<int64_t>(base::HashString(id));
}

uint64_t FlowKey(const TraceEvent& event) {
  return base::HashString(event.id, base::HashString(event.name, base::HashString(event.category)));
}

void Join(std::string_view a, std::string_view b, std::string& out) {
  out.assign(a);
  out += '\0';
  out.append(b);
}

}  // namespace

Collector::Collector(EventStage& stage, uint32_t number)
    : stage_(stage),
      number_(number),
      names_(stage.names_),
      splitter_(stage.dialect_.captured_keys(), names_, stage.next_args_id_, &stage.pool_),
      staged_(&stage.pool_, &stage.arena_) {}

Staged Collector::TakeStaged() {
  return std::exchange(staged_, Staged(&stage_.pool_, &stage_.arena_));
}

void Collector::TakeMetadata(std::string_view key, std::string_view json) {
  metadata_.emplace_back(key, json);
}

Status Collector::TakeEvents(std::span<const TraceEvent> events) {
  if (ImportWatch* watch = stage_.options_.watch; watch != nullptr && !events.empty()) {
    if (watch->cancelled()) return base::CancelledError("the import was cancelled");
    watch->Read(events.back().position - events.front().position);
  }
  for (const TraceEvent& event : events) {
    if (!TimeFits(event)) continue;
    if (event.has_more) Count(kUnreadKeys, event);
    if (!event.bind_id.empty()) TakeBoundFlow(event);
    switch (event.phase) {
      case 'X':
        TakeSlice(event);
        break;
      case 'B':
      case 'E':
        TakeEdge(event, event.phase);
        break;
      case 'b':
      case 'S':
        TakeAsync(event, 'b');
        break;
      case 'e':
      case 'F':
        TakeAsync(event, 'e');
        break;
      case 'i':
      case 'I':
      case 'R':
      case 'n':
      case 'T':
      case 'p':
        TakeInstant(event);
        break;
      case 'C':
        TakeCounter(event);
        break;
      case 's':
      case 't':
      case 'f':
        TakeFlow(event);
        break;
      case 'M':
        TakeNames(event);
        break;
      default:
        Count(kOtherPhase, event);
    }
  }
  return {};
}

bool Collector::TimeFits(const TraceEvent& event) {
  if (event.ts_ns <= kMaxTime && event.ts_ns >= -kMaxTime && event.dur_ns <= kMaxDuration) {
    return true;
  }
  Count(kBadTime, event);
  return false;
}

int32_t Collector::ThreadOf(const TraceEvent& event) {
  if (last_thread_ >= 0 && event.tid == last_tid_ && event.pid == last_pid_) return last_thread_;
  Join(event.pid, event.tid, key_);
  auto found = threads_.find(std::string_view(key_));
  if (found == threads_.end()) {
    found = threads_.emplace(key_, stage_.tracks_.Thread(event.pid, event.tid)).first;
  }
  last_pid_ = event.pid;
  last_tid_ = event.tid;
  last_thread_ = found->second;
  return last_thread_;
}

int32_t Collector::TrackOf(int32_t thread, uint8_t lane) {
  if (thread != last_lanes_thread_) {
    const auto [place, is_new] = lanes_.try_emplace(thread);
    if (is_new) place->second.fill(-1);
    last_lanes_thread_ = thread;
    last_lanes_ = &place->second;
  }
  int32_t& track = (*last_lanes_)[lane];
  if (track < 0) track = stage_.tracks_.Track(thread, lane);
  return track;
}

int32_t Collector::Category(std::string_view category) {
  if (category.empty()) return store::kNone;
  if (category != last_category_text_) {
    last_category_ = names_.Intern(category);
    last_category_text_ = category;
  }
  return last_category_;
}

ArgumentSplitter::Ids Collector::Arguments(const TraceEvent& event) {
  if (event.args.empty()) return {};
  return splitter_.Take(event.args, stage_.dialect_.StoresArguments(event));
}

void Collector::TakeSlice(const TraceEvent& event) {
  int64_t dur = event.dur_ns;
  if (!event.has_dur) Count(kNoDuration, event);
  if (dur < 0) {
    Count(kNegativeDuration, event);
    dur = 0;
  }
  const ArgumentSplitter::Ids ids = Arguments(event);
  staged_.slices.Append({.ts = event.ts_ns,
                         .dur = dur,
                         .track = TrackOf(ThreadOf(event), stage_.dialect_.LaneOf(event)),
                         .name = names_.Intern(event.name),
                         .category = Category(event.category),
                         .args_id = ids.args_id,
                         .captured = ids.captured,
                         .reader = number_});
}

void Collector::TakeEdge(const TraceEvent& event, char phase) {
  const ArgumentSplitter::Ids ids = Arguments(event);
  const bool is_named = phase == 'B' || !event.name.empty();
  staged_.edges.push_back({.ts = event.ts_ns,
                           .key = 0,
                           .thread = ThreadOf(event),
                           .name = is_named ? names_.Intern(event.name) : store::kNone,
                           .category = Category(event.category),
                           .args_id = ids.args_id,
                           .captured = ids.captured,
                           .reader = number_,
                           .phase = phase,
                           .lane = stage_.dialect_.LaneOf(event),
                           .only_beside = event.only_beside});
}

void Collector::TakeAsync(const TraceEvent& event, char phase) {
  const ArgumentSplitter::Ids ids = Arguments(event);
  const bool is_named = phase == 'b' || !event.name.empty();
  const uint64_t owner = base::HashString(event.scope, base::HashString(event.category));
  staged_.edges.push_back({.ts = event.ts_ns,
                           .key = base::HashString(event.id, owner),
                           .thread = ThreadOf(event),
                           .name = is_named ? names_.Intern(event.name) : store::kNone,
                           .category = Category(event.category),
                           .args_id = ids.args_id,
                           .captured = ids.captured,
                           .reader = number_,
                           .phase = phase,
                           .lane = 0,
                           .only_beside = event.only_beside});
}

void Collector::TakeInstant(const TraceEvent& event) {
  const ArgumentSplitter::Ids ids = Arguments(event);
  staged_.instants.push_back({.ts = event.ts_ns,
                              .thread = ThreadOf(event),
                              .name = names_.Intern(event.name),
                              .category = Category(event.category),
                              .args_id = ids.args_id,
                              .captured = ids.captured,
                              .reader = number_,
                              .taken = stage_.dialect_.TakesInstant(event)});
}

void Collector::TakeCounter(const TraceEvent& event) {
  if (event.args.empty()) {
    Count(kBadCounter, event);
    return;
  }
  Join(event.pid, event.name, key_);
  if (!event.id.empty()) key_.append("\0", 1).append(event.id);
  auto found = counters_.find(std::string_view(key_));
  if (found == counters_.end()) found = counters_.emplace(key_, CounterSeries()).first;
  auto& series = found->second.tracks;
  size_t place = 0;
  bool fine = true;
  ForEachMember(event.args, [&](std::string_view key, bool, const JsonValue& value) {
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto result = std::from_chars(value.text.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end) {
      fine = false;
      return;
    }
    if (place >= series.size() || series[place].first != key) {
      for (place = 0; place < series.size() && series[place].first != key;) ++place;
      if (place == series.size()) {
        std::string name(event.name);
        if (!event.id.empty()) name += base::Concat("[", event.id, "]");
        series.emplace_back(
            key, stage_.tracks_.CounterTrack(event.pid, names_.Intern(base::Concat(name, " ", key)),
                                             key_ + '\0' + std::string(key)));
      }
    }
    staged_.counters.push_back({event.ts_ns, number, series[place].second});
    ++place;
  });
  if (!fine) Count(kBadCounter, event);
}

void Collector::TakeFlow(const TraceEvent& event) {
  staged_.flows.push_back({.ts = event.ts_ns,
                           .key = FlowKey(event),
                           .number = NumberOf(event.id),
                           .thread = ThreadOf(event),
                           .category = Category(event.category),
                           .phase = event.phase,
                           .enclosing = event.phase != 'f' || event.bind == "e"});
}

// Arrows without events of their own: those with one bind_id join the slices that name it.
void Collector::TakeBoundFlow(const TraceEvent& event) {
  if (!event.flow_in && !event.flow_out) return;
  constexpr uint64_t kBound = 1;  // apart from the keys of other flows
  staged_.flows.push_back({.ts = event.ts_ns,
                           .key = base::HashString(event.bind_id, kBound),
                           .number = NumberOf(event.bind_id),
                           .thread = ThreadOf(event),
                           .category = Category(event.category),
                           .phase = !event.flow_in   ? 's'
                                    : event.flow_out ? 't'
                                                     : 'f',
                           .enclosing = false});
}

// Names, labels and order of processes and threads.
void Collector::TakeNames(const TraceEvent& event) {
  const bool of_process = event.name.starts_with("process_");
  const bool of_thread = event.name.starts_with("thread_");
  if (event.args.empty() || (!of_process && !of_thread)) return;
  TrackTable& table = stage_.tracks_;
  const auto text = FindMember(event.args, event.name.ends_with("_labels") ? "labels" : "name");
  const auto sort = FindMember(event.args, "sort_index");
  const int32_t id = of_process ? table.Process(event.pid) : ThreadOf(event);
  const int32_t name = text ? names_.Intern(text->Text()) : store::kNone;
  constexpr int64_t kNoIndex = INT64_MIN;
  const int64_t index = sort ? base::ParseInt64(sort->text).value_or(kNoIndex) : kNoIndex;
  const std::lock_guard lock(table.mutex);
  if (of_process) {
    ProcessEntry& process = table.processes[static_cast<size_t>(id)];
    if (event.name == "process_name" && text) process.name = name;
    if (event.name == "process_labels" && text) process.labels = name;
    if (event.name == "process_sort_index" && index != kNoIndex) process.sort_index = index;
  } else {
    ThreadEntry& thread = table.threads[static_cast<size_t>(id)];
    if (event.name == "thread_name" && text) thread.name = name;
    if (event.name == "thread_sort_index" && index != kNoIndex) thread.sort_index = index;
  }
}

}  // namespace sonde::importers::trace_events

#include "importers/trace_events/collector.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "importers/import_watch.h"
#include "importers/trace_events/issues.h"
#include "importers/trace_events/plain_number.h"

namespace sonde::importers::trace_events {
namespace {

// Moments up to the year 2096 and lengths up to 31 years: sums with a base stay within 64 bits.
constexpr int64_t kMaxTime = 4'000'000'000'000'000'000;
constexpr int64_t kMaxDuration = 1'000'000'000'000'000'000;
// The id of a process or thread where the event has none.
constexpr std::string_view kNoNumber = "0";

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

uint64_t FlowKey(const TraceEvent& event, uint64_t scope) {
  return base::HashString(event.id,
                          base::HashString(event.name, base::HashString(event.category, scope)));
}

// Whether other processes may use the same id for something else: "id2": {"local": ...}.
bool IsOfProcess(const TraceEvent& event) {
  return !event.id_is_text && event.id.starts_with('{') &&
         FindMember(event.id, "local").has_value();
}

// Distinguishes most texts by few letters.
size_t Glance(std::string_view a, std::string_view b) {
  const auto letter = [](std::string_view text, size_t from_end) {
    return text.size() < from_end ? 0U : static_cast<uint8_t>(text[text.size() - from_end]);
  };
  return a.size() + letter(a, 1) + 3U * letter(a, 2) + 5U * letter(b, 1) + 7U * b.size();
}

// Whether the double of `text`, a number, has other digits.
bool IsRounded(std::string_view text, double number) {
  constexpr size_t kSafeDigits = 15;
  constexpr size_t kMostDigits = 800;  // more than any double has
  if (text.find_first_of("eE") != std::string_view::npos) return false;
  std::string digits;
  for (const char c : text) {
    const bool leads = digits.empty() && c == '0';
    if (c >= '0' && c <= '9' && !leads) digits += c;
  }
  if (text.find('.') != std::string_view::npos) {
    while (digits.ends_with('0')) digits.pop_back();
  }
  if (digits.size() <= kSafeDigits) return false;
  if (digits.size() > kMostDigits) return true;
  char buffer[kMostDigits + 16];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), std::fabs(number),
                                 std::chars_format::scientific, static_cast<int>(digits.size()) - 1)
                       .ptr;
  const std::string_view held(buffer, static_cast<size_t>(end - buffer));
  return held.front() != digits.front() || held.substr(2, digits.size() - 1) != digits.substr(1);
}

// The decimal number in `text`, a part of `object`; a fast path for its usual forms.
bool ParseDouble(std::string_view text, std::string_view object, double& number, bool& rounded) {
  constexpr int64_t kExact = int64_t{1} << 53;
  const char* const end = text.data() + text.size();
  const PlainNumber plain = ReadPlainNumber(text.data(), object.data() + object.size());
  if (plain.behind == end) {
    number = plain.is_integer ? static_cast<double>(plain.integer) : plain.fraction;
    const bool is_small = plain.integer >= -kExact && plain.integer <= kExact;
    rounded |= !is_small && static_cast<int64_t>(number) != plain.integer;
    return true;
  }
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(number)) return false;
  rounded |= IsRounded(text, number);
  return true;
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
      splitter_(stage.dialect_.captured_keys(), names_, stage.argument_numbers_, &stage.arena_),
      staged_(&stage.arena_) {}

Staged Collector::TakeStaged() { return std::exchange(staged_, Staged(&stage_.arena_)); }

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
    if (event.pid.data() != nullptr && event.tid.data() != nullptr) [[likely]] {
      TakeEvent(event);
      continue;
    }
    TraceEvent complete = event;
    if (complete.pid.data() == nullptr) complete.pid = kNoNumber;
    if (complete.tid.data() == nullptr) complete.tid = kNoNumber;
    TakeEvent(complete);
  }
  return {};
}

void Collector::TakeEvent(const TraceEvent& event) {
  if (event.has_more) Count(kUnreadKeys, event);
  if (!event.bind_id.empty()) TakeBoundFlow(event);
  switch (event.phase) {
    case 'X':
      return TakeSlice(event);
    case 'B':
    case 'E':
      return TakeEdge(event, event.phase);
    case 'b':
    case 'S':
      return TakeAsync(event, 'b');
    case 'e':
    case 'F':
      return TakeAsync(event, 'e');
    case 'i':
    case 'I':
    case 'R':
    case 'n':
    case 'T':
    case 'p':
      return TakeInstant(event);
    case 'C':
      return TakeCounter(event);
    case 's':
    case 't':
    case 'f':
      return TakeFlow(event);
    case 'M':
      return TakeMetadataEvent(event);
    default:
      Count(kOtherPhase, event);
  }
}

bool Collector::TimeFits(const TraceEvent& event) {
  if (event.ts_ns <= kMaxTime && event.ts_ns >= -kMaxTime && event.dur_ns <= kMaxDuration) {
    return true;
  }
  Count(kBadTime, event);
  return false;
}

Collector::RecentThread& Collector::Thread(const TraceEvent& event) {
  RecentThread& recent = recent_threads_[Glance(event.pid, event.tid) % kRecent];
  if (recent.thread >= 0 && event.tid == recent.tid && event.pid == recent.pid) return recent;
  Join(event.pid, event.tid, key_);
  auto found = threads_.find(std::string_view(key_));
  if (found == threads_.end()) {
    found = threads_.emplace(key_, stage_.tracks_.Thread(event.pid, event.tid)).first;
  }
  const auto [lanes, is_new] = lanes_.try_emplace(found->second);
  if (is_new) lanes->second.fill(-1);
  recent.pid = event.pid;
  recent.tid = event.tid;
  recent.thread = found->second;
  recent.lanes = &lanes->second;
  return recent;
}

int32_t Collector::TrackOf(const TraceEvent& event) {
  const RecentThread& thread = Thread(event);
  const uint8_t lane = stage_.dialect_.LaneOf(event);
  int32_t& track = (*thread.lanes)[lane];
  if (track < 0) track = stage_.tracks_.Track(thread.thread, lane);
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
                         .track = TrackOf(event),
                         .name = names_.Intern(event.name),
                         .category = Category(event.category),
                         .args_id = ids.args_id,
                         .captured = ids.captured,
                         .reader = number_});
}

RangeEdge Collector::EdgeOf(const TraceEvent& event, char phase) {
  const ArgumentSplitter::Ids ids = Arguments(event);
  const bool begins = phase == 'B' || phase == 'b';
  return {.ts = event.ts_ns,
          .key = 0,
          .thread = ThreadOf(event),
          .name = begins || !event.name.empty() ? names_.Intern(event.name) : store::kNone,
          .category = Category(event.category),
          .args_id = ids.args_id,
          .captured = ids.captured,
          .reader = number_,
          .phase = phase,
          .lane = 0};
}

void Collector::TakeEdge(const TraceEvent& event, char phase) {
  RangeEdge edge = EdgeOf(event, phase);
  edge.lane = stage_.dialect_.LaneOf(event);
  if (phase == 'B') {
    staged_.slices.Append({.ts = edge.ts,
                           .dur = -1,
                           .track = TrackOf(event),
                           .name = edge.name,
                           .category = edge.category,
                           .args_id = edge.args_id,
                           .captured = edge.captured,
                           .reader = edge.reader});
    edge.slice = staged_.slices.places() - 1;
  }
  staged_.edges.Append(edge);
}

void Collector::TakeAsync(const TraceEvent& event, char phase) {
  RangeEdge edge = EdgeOf(event, phase);
  edge.key =
      base::HashString(event.id, base::HashString(event.scope, base::HashString(event.category)));
  if (IsOfProcess(event)) edge.key = base::HashString(event.pid, edge.key);
  staged_.edges.Append(edge);
}

void Collector::TakeInstant(const TraceEvent& event) {
  const ArgumentSplitter::Ids ids = Arguments(event);
  staged_.instants.Append({.ts = event.ts_ns,
                           .thread = ThreadOf(event),
                           .name = names_.Intern(event.name),
                           .category = Category(event.category),
                           .args_id = ids.args_id,
                           .captured = ids.captured,
                           .reader = number_,
                           .taken = stage_.dialect_.TakesInstant(event)});
}

Collector::CounterSeries& Collector::SeriesOf(const TraceEvent& event) {
  RecentSeries& recent = recent_series_[Glance(event.pid, event.name) % kRecent];
  if (recent.series != nullptr && recent.name == event.name && recent.pid == event.pid &&
      recent.id == event.id) {
    return *recent.series;
  }
  Join(event.pid, event.name, key_);
  if (!event.id.empty()) key_.append("\0", 1).append(event.id);
  recent = {std::string(event.pid), std::string(event.name), std::string(event.id),
            &counters_[key_]};
  return *recent.series;
}

void Collector::AddSeries(CounterSeries& series, const TraceEvent& event, std::string_view key) {
  std::string name(event.name);
  if (!event.id.empty()) name += base::Concat("[", event.id, "]");
  Join(event.pid, event.name, key_);
  if (!event.id.empty()) key_.append("\0", 1).append(event.id);
  const int32_t track = stage_.tracks_.CounterTrack(
      event.pid, names_.Intern(base::Concat(name, " ", key)), key_ + '\0' + std::string(key));
  series.tracks.emplace_back(key, track);
}

size_t Collector::PlaceOf(CounterSeries& series, const TraceEvent& event, std::string_view key) {
  constexpr size_t kFew = 16;
  auto& [tracks, places] = series;
  if (tracks.size() <= kFew) {
    for (size_t place = 0; place < tracks.size(); ++place) {
      if (tracks[place].first == key) return place;
    }
  } else {
    for (size_t place = places.size(); place < tracks.size(); ++place) {
      places.emplace(tracks[place].first, place);
    }
    if (const auto known = places.find(key); known != places.end()) return known->second;
  }
  AddSeries(series, event, key);
  return tracks.size() - 1;
}

namespace {

bool IsIdentifier(std::string_view key) {
  return key == "id" || key.ends_with("_id") || key.ends_with("Id");
}

// Members that distinguish several counters, as a text; "" where there are none, or nothing else.
std::string IdentifiersOf(std::string_view args) {
  std::string text;
  if (args.find("id\"") == std::string_view::npos && args.find("Id\"") == std::string_view::npos) {
    return text;
  }
  bool is_measured = false;
  ForEachMember(args, [&](std::string_view key, bool, const JsonValue& value) {
    if (!IsIdentifier(key)) {
      is_measured = true;
      return;
    }
    text += base::Concat(text.empty() ? "" : ", ", key, " ", value.text);
  });
  return is_measured ? text : std::string();
}

}  // namespace

void Collector::TakeCounter(const TraceEvent& whole) {
  if (whole.args.empty()) {
    Count(kBadCounter, whole);
    return;
  }
  const std::string identifiers = IdentifiersOf(whole.args);
  TraceEvent event = whole;
  if (event.id.empty()) event.id = identifiers;
  CounterSeries& series = SeriesOf(event);
  auto& tracks = series.tracks;
  size_t place = 0;
  bool fine = true;
  bool rounded = false;
  ForEachMember(event.args, [&](std::string_view key, bool, const JsonValue& value) {
    if (!identifiers.empty() && IsIdentifier(key)) return;
    double number = 0;
    if (!ParseDouble(value.text, event.args, number, rounded)) {
      fine = false;
      return;
    }
    if (place >= tracks.size() || tracks[place].first != key) {
      place = PlaceOf(series, event, key);
    }
    staged_.counters.Append({event.ts_ns, number, tracks[place].second});
    ++place;
  });
  if (!fine) Count(kBadCounter, event);
  if (rounded) Count(kRoundedCounter, event);
}

void Collector::TakeFlow(const TraceEvent& event) {
  staged_.flows.Append({.ts = event.ts_ns,
                        .key = FlowKey(event, stage_.dialect_.ScopeOf(event.pid)),
                        .number = NumberOf(event.id),
                        .thread = ThreadOf(event),
                        .category = Category(event.category),
                        .phase = event.phase,
                        .enclosing = event.phase != 'f' || event.bind == "e",
                        .of_span = false});
}

// Arrows without events of their own: those with one bind_id join the slices that name it.
void Collector::TakeBoundFlow(const TraceEvent& event) {
  if (!event.flow_in && !event.flow_out) return;
  constexpr uint64_t kBound = 1;  // apart from the keys of other flows
  constexpr std::string_view kOfSpans = "bneSTF";
  staged_.flows.Append({.ts = event.ts_ns,
                        .key = base::HashString(event.bind_id, kBound),
                        .number = NumberOf(event.bind_id),
                        .thread = ThreadOf(event),
                        .category = Category(event.category),
                        .phase = !event.flow_in   ? 's'
                                 : event.flow_out ? 't'
                                                  : 'f',
                        .enclosing = false,
                        .of_span = kOfSpans.find(event.phase) != std::string_view::npos});
}

// Names, labels and order of processes and threads, names of any type as their text; and other
// facts of a process.
void Collector::TakeMetadataEvent(const TraceEvent& event) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"};
  if (event.args.empty()) return Count(kBadMetadata, event);
  if (std::find(kNames.begin(), kNames.end(), event.name) != kNames.end()) return TakeNames(event);
  constexpr size_t kMaxFacts = 10000;  // they stay in memory
  if (facts_.size() == kMaxFacts) return Count(kOtherPhase, event);
  facts_.push_back({stage_.tracks_.Process(event.pid), event.position, std::string(event.name),
                    std::string(event.args)});
}

void Collector::TakeNames(const TraceEvent& event) {
  const bool of_process = event.name.starts_with("process_");
  TrackTable& table = stage_.tracks_;
  const bool is_index = event.name.ends_with("_sort_index");
  const bool is_label = event.name.ends_with("_labels");
  const auto value = FindMember(event.args, is_index ? "sort_index" : is_label ? "labels" : "name");
  const bool is_null = !value || (!value->is_string && value->text == "null");
  constexpr int64_t kNoIndex = INT64_MIN;
  const int64_t index = is_null ? kNoIndex : base::ParseInt64(value->text).value_or(kNoIndex);
  const int32_t id = of_process ? table.Process(event.pid) : ThreadOf(event);
  if (is_null || (is_index && index == kNoIndex)) return Count(kBadMetadata, event);
  const int32_t name = is_index ? store::kNone : names_.Intern(value->Text());
  const std::lock_guard lock(table.mutex);
  if (of_process) {
    ProcessEntry& process = table.processes[static_cast<size_t>(id)];
    if (is_index) {
      process.sort_index = index;
    } else {
      (is_label ? process.labels : process.name) = name;
    }
  } else {
    ThreadEntry& thread = table.threads[static_cast<size_t>(id)];
    if (is_index) {
      thread.sort_index = index;
    } else {
      thread.name = name;
    }
  }
}

}  // namespace sonde::importers::trace_events

#include "importers/trace_events/scanner.h"

#include <array>
#include <cstring>

#include "importers/trace_events/json_text.h"

namespace sonde::importers::trace_events {
namespace {

// Keys by length and letters; the usual ones only, others are skipped.
enum class Field {
  kOther,
  kPhase,
  kTs,
  kDur,
  kPid,
  kTid,
  kName,
  kCategory,
  kArgs,
  kId,
  kBind,
  kBindId,
  kFlowIn,
  kFlowOut,
  kScope,
  kUnread
};

Field FieldOf(std::string_view key) {
  switch (key.size()) {
    case 1:
      return key == "s" ? Field::kScope : Field::kOther;
    case 2:
      if (key == "ph") return Field::kPhase;
      if (key == "ts") return Field::kTs;
      if (key == "id") return Field::kId;
      if (key == "sf") return Field::kUnread;
      return key == "bp" ? Field::kBind : Field::kOther;
    case 3:
      if (key == "pid") return Field::kPid;
      if (key == "tid") return Field::kTid;
      if (key == "dur") return Field::kDur;
      if (key == "cat") return Field::kCategory;
      if (key == "tts" || key == "esf") return Field::kUnread;
      return key == "id2" ? Field::kId : Field::kOther;
    case 4:
      if (key == "name") return Field::kName;
      if (key == "tdur") return Field::kUnread;
      return key == "args" ? Field::kArgs : Field::kOther;
    case 5:
      if (key == "stack") return Field::kUnread;
      return key == "scope" ? Field::kScope : Field::kOther;
    case 7:
      if (key == "bind_id") return Field::kBindId;
      return key == "flow_in" ? Field::kFlowIn : Field::kOther;
    case 8:
      return key == "flow_out" ? Field::kFlowOut : Field::kOther;
    default:
      return Field::kOther;
  }
}

constexpr std::array<std::string_view, 10> kFirstKeys = {"ph", "name", "cat", "pid", "tid",
                                                         "ts", "id",   "dur", "bp",  "args"};

// Whether `p`, at '{', begins with one of the keys of events.
bool LooksLikeEvent(const char* p, const char* end) {
  p = SkipSpace(p + 1, end);
  if (p >= end || *p != '"') return false;
  ++p;
  for (const std::string_view key : kFirstKeys) {
    if (static_cast<size_t>(end - p) > key.size() && std::memcmp(p, key.data(), key.size()) == 0 &&
        p[key.size()] == '"') {
      return true;
    }
  }
  return false;
}

}  // namespace

ScanResult EventScanner::Scan(const char* begin, const char* end, TraceEvent& event,
                              const char*& behind) {
  event = TraceEvent();
  bad_time_ = false;
  const char* p = begin + 1;
  while (true) {
    p = SkipSpace(p, end);
    if (p >= end) return ScanResult::kIncomplete;
    if (*p == '}') break;
    if (*p == ',') {
      ++p;
      continue;
    }
    if (*p != '"') return ScanResult::kBad;
    const StringEnd key = FindStringEnd(p + 1, end);
    if (key.quote == nullptr) return ScanResult::kIncomplete;
    const std::string_view name(p + 1, static_cast<size_t>(key.quote - p) - 1);
    p = SkipSpace(key.quote + 1, end);
    if (p >= end) return ScanResult::kIncomplete;
    if (*p != ':') return ScanResult::kBad;
    p = SkipSpace(p + 1, end);
    if (p >= end) return ScanResult::kIncomplete;
    Value value;
    const char* const at = p;
    p = ReadValue(p, end, value);
    if (p == nullptr) return ScanResult::kIncomplete;
    if (p == at) return ScanResult::kBad;
    TakeField(name, value, event);
  }
  behind = p + 1;
  Finish(event);
  return ScanResult::kEvent;
}

// Behind the value; `p` itself where there is none, nullptr where it does not end.
const char* EventScanner::ReadValue(const char* p, const char* end, Value& value) {
  if (*p == '"') {
    const StringEnd string = FindStringEnd(p + 1, end);
    if (string.quote == nullptr) return nullptr;
    mended_ += string.mended ? 1 : 0;
    value = {{p + 1, static_cast<size_t>(string.quote - p) - 1}, true, string.escaped};
    return string.quote + 1;
  }
  const bool container = *p == '{' || *p == '[';
  const char* behind = container ? SkipContainer(p, end, mended_) : SkipScalar(p, end);
  if (behind == nullptr || (!container && behind == end)) return nullptr;
  value.text = {p, static_cast<size_t>(behind - p)};
  return behind;
}

std::string_view EventScanner::Text(const Value& value) {
  if (!value.escaped) return value.text;
  return texts_.emplace_back(Unescape(value.text));
}

void EventScanner::TakeTime(const Value& value, int64_t& ns, bool& has) {
  has = ParseMicroseconds(value.text, ns);
  bad_time_ |= !has;
}

void EventScanner::TakeField(std::string_view key, const Value& value, TraceEvent& event) {
  if (!value.is_string && value.text == "null") return;  // as if the key were not there
  switch (FieldOf(key)) {
    case Field::kPhase:
      event.phase = value.is_string && !value.text.empty() ? value.text[0] : '\0';
      break;
    case Field::kTs:
      TakeTime(value, event.ts_ns, event.has_ts);
      break;
    case Field::kDur:
      TakeTime(value, event.dur_ns, event.has_dur);
      break;
    case Field::kPid:
      event.pid = Text(value);
      break;
    case Field::kTid:
      event.tid = Text(value);
      break;
    case Field::kName:
      event.name = Text(value);
      break;
    case Field::kCategory:
      event.category = Text(value);
      break;
    case Field::kArgs:
      if (!value.is_string && value.text.starts_with('{')) event.args = value.text;
      break;
    case Field::kId:
      event.id = Text(value);
      event.id_is_text = value.is_string;
      break;
    case Field::kBind:
      event.bind = value.text;
      break;
    case Field::kBindId:
      event.bind_id = Text(value);
      break;
    case Field::kFlowIn:
      event.flow_in = value.text == "true";
      break;
    case Field::kFlowOut:
      event.flow_out = value.text == "true";
      break;
    case Field::kScope:
      event.scope = Text(value);
      break;
    case Field::kUnread:
      event.has_more = true;
      break;
    case Field::kOther:
      break;
  }
}

void EventScanner::Finish(TraceEvent& event) {
  problem_ = EventProblem::kNone;
  if (event.phase == '\0') {
    problem_ = EventProblem::kNoPhase;
  } else if (event.phase != 'M' && (bad_time_ || !event.has_ts)) {
    problem_ = EventProblem::kBadTime;
  }
}

const char* FindEventBegin(const char* p, const char* end) {
  while (p < end) {
    p = static_cast<const char*>(std::memchr(p, '{', static_cast<size_t>(end - p)));
    if (p == nullptr) return nullptr;
    if (LooksLikeEvent(p, end)) return p;
    ++p;
  }
  return nullptr;
}

const char* FindEventBoundary(const char* p, const char* end) {
  while (p < end) {
    p = static_cast<const char*>(std::memchr(p, '}', static_cast<size_t>(end - p)));
    if (p == nullptr) return nullptr;
    const char* next = SkipSpace(p + 1, end);
    if (next < end && *next == ',') {
      next = SkipSpace(next + 1, end);
      if (next < end && *next == '{' && LooksLikeEvent(next, end)) return next;
    }
    ++p;
  }
  return nullptr;
}

}  // namespace sonde::importers::trace_events

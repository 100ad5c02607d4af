#include "importers/trace_events/scanner.h"

#include <array>
#include <cstring>

#include "importers/trace_events/json_text.h"
#include "importers/trace_events/members.h"

namespace sonde::importers::trace_events {
namespace {

using Field = EventField;

// Keys by length and letters; the usual ones only, others are skipped.
Field FieldOf(std::string_view key) {
  switch (key.size()) {
    case 1:
      return key == "s" ? Field::kScope : Field::kOther;
    case 2:
      if (key == "ph") return Field::kPhase;
      if (key == "ts") return Field::kTs;
      if (key == "id") return Field::kId;
      if (key == "sf") return Field::kSliceFact;
      return key == "bp" ? Field::kBind : Field::kOther;
    case 3:
      if (key == "pid") return Field::kPid;
      if (key == "tid") return Field::kTid;
      if (key == "dur") return Field::kDur;
      if (key == "cat") return Field::kCategory;
      if (key == "tts" || key == "esf") return Field::kSliceFact;
      return key == "id2" ? Field::kId : Field::kOther;
    case 4:
      if (key == "name") return Field::kName;
      if (key == "tdur") return Field::kSliceFact;
      return key == "args" ? Field::kArgs : Field::kOther;
    case 5:
      if (key == "stack") return Field::kSliceFact;
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

// The first bytes of a text as a number, in memory order.
constexpr uint64_t Word(std::string_view text) {
  uint64_t word = 0;
  for (size_t i = text.size(); i-- > 0;) word = (word << 8U) | static_cast<uint8_t>(text[i]);
  return word;
}

// The key at `p`, behind its opening quote, and its length with the closing one; 0: none of these.
size_t MatchKey(const char* p, Field& field) {
  uint64_t word = 0;
  std::memcpy(&word, p, sizeof(word));
  switch (word & 0xffffffffU) {
    case Word("pid\""):
      field = Field::kPid;
      return 4;
    case Word("tid\""):
      field = Field::kTid;
      return 4;
    case Word("dur\""):
      field = Field::kDur;
      return 4;
    case Word("cat\""):
      field = Field::kCategory;
      return 4;
    case Word("name"):
      field = Field::kName;
      return p[4] == '"' ? 5 : 0;
    case Word("args"):
      field = Field::kArgs;
      return p[4] == '"' ? 5 : 0;
    default:
      break;
  }
  switch (word & 0xffffffU) {
    case Word("ph\""):
      field = Field::kPhase;
      return 3;
    case Word("ts\""):
      field = Field::kTs;
      return 3;
    case Word("id\""):
      field = Field::kId;
      return 3;
    case Word("bp\""):
      field = Field::kBind;
      return 3;
    default:
      return 0;
  }
}

// The begin of the value of a usual key whose opening quote is before `p`; nullptr where the key is
// none or the text is about to end.
const char* FindKnownKey(const char* p, const char* end, Field& field) {
  constexpr ptrdiff_t kEnough = 16;
  if (end - p < kEnough) return nullptr;
  const size_t length = MatchKey(p, field);
  if (length == 0) return nullptr;
  p = SkipSpace(p + length, end);
  if (p >= end || *p != ':') return nullptr;
  p = SkipSpace(p + 1, end);
  return p < end ? p : nullptr;
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

// Whether a value may end at `p`: a key of the same event follows, or its end.
bool KeyOrEndFollows(const char* p, const char* end) {
  p = SkipSpace(p, end);
  if (p < end && *p == '}') return true;
  if (p == end || *p != ',') return false;
  p = SkipSpace(p + 1, end);
  if (p == end || *p != '"') return false;
  p = static_cast<const char*>(std::memchr(p + 1, '"', static_cast<size_t>(end - p) - 1));
  if (p == nullptr) return false;
  p = SkipSpace(p + 1, end);
  return p < end && *p == ':';
}

}  // namespace

// Text that does not parse as an event may be one whose name holds quotes and commas.
ScanResult EventScanner::Scan(const char* begin, const char* end, TraceEvent& event,
                              const char*& behind) {
  const int64_t repaired = repaired_;
  ScanResult result = ScanOnce(begin, end, event, behind);
  if (result != ScanResult::kBad) return result;
  repaired_ = repaired;
  event = TraceEvent();
  careful_ = true;
  result = ScanOnce(begin, end, event, behind);
  careful_ = false;
  return result;
}

ScanResult EventScanner::ScanOnce(const char* begin, const char* end, TraceEvent& event,
                                  const char*& behind) {
  bad_time_ = false;
  slice_facts_.clear();
  shapes_.Begin(begin);
  if (careful_) shapes_.GiveUp();
  const char* p = begin;
  while (true) {
    Field field = Field::kOther;
    std::string_view key;
    const EventShapes::Tree::Edge* edge = shapes_.Match(p, end);
    if (edge != nullptr) {
      edge->Apply(p, event);
      p += edge->text.size();
      if (edge->last) break;
      p = SkipSpace(p, end);  // there was none where the edge was learnt
      if (p >= end) return ScanResult::kIncomplete;
      field = edge->field;
    } else {
      if (p == begin) ++p;
      const Step step = ReadKey(p, end, field, key);
      if (step == Step::kBad) return ScanResult::kBad;
      if (step == Step::kIncomplete) return ScanResult::kIncomplete;
      if (step == Step::kEnd) {
        shapes_.TakeEnd(p);
        break;
      }
    }
    const char* const value = p;
    p = ReadFieldValue(field, key, value, end, event);
    if (p == nullptr) return ScanResult::kIncomplete;
    if (p == value) return ScanResult::kBad;
    if (edge != nullptr) {
      shapes_.PassValue(p);
    } else {
      LearnValue(field, value, p, event);
    }
  }
  behind = p;
  Finish(event);
  return ScanResult::kEvent;
}

// From behind a value, or the opening brace, to the begin of the next value or behind the end.
EventScanner::Step EventScanner::ReadKey(const char*& p, const char* end, Field& field,
                                         std::string_view& key) {
  p = SkipSeparators(p, end);
  if (p >= end) return Step::kIncomplete;
  if (*p == '}') {
    ++p;
    return Step::kEnd;
  }
  if (*p != '"') return Step::kBad;
  if (const char* value = FindKnownKey(p + 1, end, field)) {
    p = value;
    return Step::kValue;
  }
  const StringEnd string = FindStringEnd(p + 1, end);
  if (string.quote == nullptr) return Step::kIncomplete;
  key = {p + 1, static_cast<size_t>(string.quote - p) - 1};
  field = FieldOf(key);
  p = SkipSpace(string.quote + 1, end);
  if (p >= end) return Step::kIncomplete;
  if (*p != ':') return Step::kBad;
  p = SkipSpace(p + 1, end);
  return p < end ? Step::kValue : Step::kIncomplete;
}

// Behind the value at `p`; `p` itself where there is none, nullptr where it does not end.
const char* EventScanner::ReadFieldValue(Field field, std::string_view key, const char* p,
                                         const char* end, TraceEvent& event) {
  if (const char* behind = ReadPlain(field, p, end, event)) return behind;
  Value value;
  const char* behind = careful_ && field == Field::kName ? ReadUnescapedName(p, end, value)
                                                         : ReadValue(p, end, value);
  if (behind == nullptr || behind == p) return behind;
  const bool is_set = !value.is_string && (value.text[0] == '{' || value.text == "null");
  if (field == Field::kArgs && !is_set) slice_facts_.emplace_back("args", value);
  if (field == Field::kSliceFact) slice_facts_.emplace_back(key, value);
  TakeField(field, value, event);
  return behind;
}

// Texts with quotes or escapes are not learnt as parts of a shape: each of them must be counted or
// unescaped again.
void EventScanner::LearnValue(Field field, const char* p, const char* behind,
                              const TraceEvent& event) {
  std::string_view TraceEvent::* member = nullptr;
  switch (field) {
    case Field::kTs:
    case Field::kDur:
    case Field::kName:
    case Field::kId:
    case Field::kArgs:
      return shapes_.TakeValue(field, p, behind);
    case Field::kPhase:
      if (behind - p != 3 || *p != '"' || event.phase != p[1]) return shapes_.GiveUp();
      return shapes_.TakePhase(event.phase);
    case Field::kPid:
      member = &TraceEvent::pid;
      break;
    case Field::kTid:
      member = &TraceEvent::tid;
      break;
    case Field::kCategory:
      member = &TraceEvent::category;
      break;
    case Field::kBind:
      member = &TraceEvent::bind;
      break;
    case Field::kScope:
      member = &TraceEvent::scope;
      break;
    default:
      return shapes_.GiveUp();
  }
  const std::string_view text = event.*member;
  const bool quoted = *p == '"';
  const bool is_all = text.data() == p + (quoted ? 1 : 0) &&
                      text.size() + (quoted ? 2 : 0) == static_cast<size_t>(behind - p);
  if (!is_all || text.find_first_of("\"\\[{") != std::string_view::npos) return shapes_.GiveUp();
  shapes_.TakePart(member, text);
}

char EventScanner::PhaseOf(std::string_view text) {
  if (text.empty()) return '\0';
  return text.size() == 1 ? text[0] : kUnknownPhase;
}

// Values in the usual forms; nullptr: the general parser decides.
const char* EventScanner::ReadPlain(Field field, const char* p, const char* end,
                                    TraceEvent& event) {
  switch (field) {
    case Field::kPhase:
      if (end - p < 4 || p[0] != '"' || p[1] == '"' || p[1] == '\\' || p[2] != '"') return nullptr;
      event.phase = p[1];
      return p + 3;
    case Field::kTs:
      return ReadPlainTime(p, end, event.ts_ns, event.has_ts);
    case Field::kDur:
      return ReadPlainTime(p, end, event.dur_ns, event.has_dur);
    case Field::kArgs:
      if (*p != '{') return nullptr;
      if (const char* behind = SkipContainer(p, end, repaired_)) {
        event.args = {p, static_cast<size_t>(behind - p)};
        return behind;
      }
      return nullptr;
    default:
      return nullptr;
  }
}

const char* EventScanner::ReadPlainTime(const char* p, const char* end, int64_t& ns, bool& has) {
  const bool quoted = *p == '"';
  int64_t read = 0;
  const char* behind = ParseMicroseconds(p + (quoted ? 1 : 0), end, read);
  if (behind == nullptr || behind >= end) return nullptr;
  if (quoted ? *behind != '"' : !EndsScalar(*behind)) return nullptr;
  ns = read;
  has = true;
  return behind + (quoted ? 1 : 0);
}

// Behind the value; `p` itself where there is none, nullptr where it does not end.
const char* EventScanner::ReadValue(const char* p, const char* end, Value& value) {
  if (*p == '"') {
    const StringEnd string = FindStringEnd(p + 1, end);
    if (string.quote == nullptr) return nullptr;
    repaired_ += string.repaired ? 1 : 0;
    value = {{p + 1, static_cast<size_t>(string.quote - p) - 1}, true, string.escaped};
    return string.quote + 1;
  }
  const bool container = *p == '{' || *p == '[';
  const char* behind = container ? SkipContainer(p, end, repaired_) : SkipScalar(p, end);
  if (behind == nullptr || (!container && behind == end)) return nullptr;
  value.text = {p, static_cast<size_t>(behind - p)};
  return behind;
}

// The same for a name; it ends where the next key or the end of the event follows.
const char* EventScanner::ReadUnescapedName(const char* p, const char* end, Value& value) {
  if (*p != '"') return ReadValue(p, end, value);
  const char* const next_event = FindEventBegin(p, end);
  const char* const limit = next_event == nullptr ? end : next_event;
  bool repaired = false;
  for (const char* quote = p + 1;; ++quote) {
    quote = FindQuoteOrBackslash(quote, limit);
    if (quote >= limit) return next_event == nullptr ? nullptr : p;
    if (*quote == '\\') {
      value.escaped = true;
      ++quote;
    } else if (KeyOrEndFollows(quote + 1, limit)) {
      value.text = {p + 1, static_cast<size_t>(quote - p) - 1};
      value.is_string = true;
      repaired_ += repaired ? 1 : 0;
      return quote + 1;
    } else {
      repaired = true;
    }
  }
}

std::string_view EventScanner::Text(const Value& value) {
  if (!value.escaped) return value.text;
  return texts_.emplace_back(Unescape(value.text));
}

void EventScanner::TakeTime(const Value& value, int64_t& ns, bool& has) {
  has = ParseMicroseconds(value.text, ns);
  bad_time_ |= !has;
}

void EventScanner::TakeField(Field field, const Value& value, TraceEvent& event) {
  if (!value.is_string && value.text == "null") return;  // as if the key were not there
  switch (field) {
    case Field::kPhase:
      event.phase = value.is_string ? PhaseOf(Text(value)) : '\0';
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
    default:
      break;
  }
}

// Facts outside the arguments join them where the event has a place for arguments. Those of an end
// will join those of its begin, and so have names of their own.
void EventScanner::JoinSliceFacts(TraceEvent& event) {
  constexpr std::string_view kWithArguments = "XBEbSeFiIRnTp";
  if (kWithArguments.find(event.phase) == std::string_view::npos) {
    event.has_more = event.phase != 'M';
    return;
  }
  const bool is_end = event.phase == 'E' || event.phase == 'e' || event.phase == 'F';
  std::string& joined = texts_.emplace_back("{");
  const bool has_none = event.args.empty() ||
                        SkipSpace(event.args.data() + 1, event.args.data() + event.args.size()) ==
                            event.args.data() + event.args.size() - 1;
  if (!has_none) joined += event.args.substr(1, event.args.size() - 2);
  for (const auto& [key, value] : slice_facts_) {
    joined += joined.size() == 1 ? "\"" : ", \"";
    if (is_end) joined += "end_";
    joined += key;
    joined += value.is_string ? "\": \"" : "\": ";
    joined += value.text;
    if (value.is_string) joined += '"';
  }
  joined += '}';
  event.args = joined;
}

void EventScanner::Finish(TraceEvent& event) {
  if (!slice_facts_.empty()) JoinSliceFacts(event);
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

#include "importers/trace_events/arguments.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/strings.h"

namespace sonde::importers::trace_events {
namespace {

constexpr int32_t kIdBlock = 4096;
constexpr int32_t kLooksBeforeJudging = 4096;
constexpr int32_t kBypassSets = 60000;
constexpr int32_t kMaxBypassSets = 1 << 20;

enum Form : int16_t { kText = 0, kJson = 1, kNumber = 2 };

// 128 bits, in one pass of two lanes.
std::pair<uint64_t, uint64_t> HashTwice(std::string_view text) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  size_t left = text.size();
  uint64_t a = text.size() ^ base::internal::kHashA;
  uint64_t b = text.size() ^ base::internal::kHashB;
  for (; left >= 16; p += 16, left -= 16) {
    const auto x = base::LoadLe<uint64_t>(p);
    const auto y = base::LoadLe<uint64_t>(p + 8);
    a = base::internal::HashMix(a ^ x, y ^ base::internal::kHashC);
    b = base::internal::HashMix(b ^ y, x ^ base::internal::kHashA);
  }
  const std::string_view rest(reinterpret_cast<const char*>(p), left);
  return {base::HashString(rest, a), base::HashString(rest, b ^ base::internal::kHashC)};
}

// Whether the shortest text of the double is `text`: then the double alone keeps it.
bool IsShortest(double value, std::string_view text) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  if (std::string_view(buffer, static_cast<size_t>(end - buffer)) == text) return true;
  base::NumberBuffer python;
  return base::FormatPythonDouble(value, python) == text;
}

bool IsNumberText(std::string_view text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

ArgumentValue TextValue(Form form, const JsonValue& value) {
  ArgumentValue text;
  text.kind = ArgumentValue::Kind::kText;
  text.form = form;
  text.text = value.text;
  text.escaped = value.escaped;
  return text;
}

// Without its key.
ArgumentValue Typed(const JsonValue& value) {
  if (value.is_string) return TextValue(kText, value);
  if (!IsNumberText(value.text)) return TextValue(kJson, value);
  ArgumentValue typed;
  const char* const begin = value.text.data();
  const char* const end = begin + value.text.size();
  const auto as_integer = std::from_chars(begin, end, typed.integer);
  if (as_integer.ec == std::errc() && as_integer.ptr == end &&
      (value.text != "-0" && (value.text[0] != '0' || value.text.size() == 1))) {
    return typed;
  }
  // An integer that does not fit keeps its text.
  const bool is_integer = value.text.find_first_of(".eE") == std::string_view::npos;
  const auto as_double = std::from_chars(begin, end, typed.fraction);
  if (is_integer || as_double.ec != std::errc() || as_double.ptr != end ||
      !IsShortest(typed.fraction, value.text)) {
    return TextValue(kNumber, value);
  }
  typed.kind = ArgumentValue::Kind::kFraction;
  return typed;
}

}  // namespace

ArgumentSplitter::ArgumentSplitter(const std::vector<CapturedKey>& keys, NameCache& names,
                                   ArgumentNumbers& numbers, BlockArena* arena)
    : names_(names),
      next_id_(numbers.set),
      parts_(numbers.part),
      known_(4096),
      next_bypass_(kBypassSets),
      captured_(arena) {
  CHECK(keys.size() <= kMaxCapturedKeys);
  for (const CapturedKey& key : keys) captured_keys_.emplace_back(key.key, key.is_text);
}

Status ArgumentSplitter::Open(store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(ints_, store::TableWriter<store::ArgsIntRow>::Open(transaction));
  SONDE_ASSIGN_OR_RETURN(doubles_, store::TableWriter<store::ArgsDoubleRow>::Open(transaction));
  SONDE_ASSIGN_OR_RETURN(texts_, store::TableWriter<store::ArgsTextRow>::Open(transaction));
  SONDE_ASSIGN_OR_RETURN(shared_, store::TableWriter<store::ArgsSharedRow>::Open(transaction));
  return {};
}

Status ArgumentSplitter::Close() {
  if (!ints_) return {};
  SONDE_RETURN_IF_ERROR(ints_->Close());
  SONDE_RETURN_IF_ERROR(doubles_->Close());
  SONDE_RETURN_IF_ERROR(texts_->Close());
  return shared_->Close();
}

ArgumentSplitter::Ids ArgumentSplitter::Take(std::string_view object, bool store) {
  store = store && ints_.has_value();
  if (SkipSpace(object.data() + 1, object.data() + object.size()) ==
      object.data() + object.size() - 1) {
    return {};
  }
  Known* place = nullptr;
  if (bypass_ > 0) {
    --bypass_;
  } else {
    if ((known_count_ + 1) * 2 > known_.size()) Grow();
    const auto [hash, check] = HashTwice(object);
    place = Find(store ? hash : ~hash, check);
    ++looks_;
    if (place->used) {
      ++hits_;
      return place->ids;
    }
    *place = {store ? hash : ~hash, check, {}, true};
    ++known_count_;
    if (looks_ >= kLooksBeforeJudging) {
      // The longer sets have been different, the longer the pause until the next look-up.
      const bool hardly_repeat = hits_ * 10 < looks_;
      bypass_ = hardly_repeat ? next_bypass_ : 0;
      next_bypass_ = hardly_repeat ? std::min(next_bypass_ * 2, kMaxBypassSets) : kBypassSets;
      looks_ = 0;
      hits_ = 0;
    }
  }
  Ids ids;
  if (store) ids.args_id = NextId();
  mask_ = 0;
  if (!Split(object, ids.args_id)) ++bad_sets_;
  if (mask_ != 0) ids.captured = captured_.Add(mask_, values_);
  if (place != nullptr) place->ids = ids;
  return ids;
}

int32_t ArgumentSplitter::NextId() {
  if (id_ == id_end_) {
    id_ = next_id_.fetch_add(kIdBlock);
    id_end_ = id_ + kIdBlock;
  }
  return id_++;
}

ArgumentSplitter::Known* ArgumentSplitter::Find(uint64_t hash, uint64_t check) {
  size_t slot = hash & (known_.size() - 1);
  while (known_[slot].used && (known_[slot].hash != hash || known_[slot].check != check)) {
    slot = (slot + 1) & (known_.size() - 1);
  }
  return &known_[slot];
}

void ArgumentSplitter::Grow() {
  std::vector<Known> old(known_.size() * 2);
  old.swap(known_);
  for (const Known& known : old) {
    if (known.used) *Find(known.hash, known.check) = known;
  }
}

// False where the text stops being JSON; the values before are taken.
bool ArgumentSplitter::Split(std::string_view object, int32_t args_id) {
  const char* p = object.data();
  const char* const end = p + object.size();
  const char* const inside_end = end - 1;
  uint32_t node = MemberShapes::kRoot;
  const MemberShapes::Edge* edge = nullptr;
  while (true) {
    edge = shapes_.Match(node, p, end);
    if (edge == nullptr) edge = LearnEdge(node, p, end);
    if (edge == nullptr || edge->last) break;
    p += edge->text.size();
    node = edge->node;
    if (args_id >= 0 && parts_.TakeRepeated(edge->place, p, end)) {
      if (edge->slot >= 0) CaptureKept(edge->slot, parts_.ValueAt(edge->place));
      continue;
    }
    const PlainNumber number = ReadPlainNumber(p, end);
    if (number.behind != nullptr && TakePlainNumber(args_id, *edge, p, number)) {
      p = number.behind;
      continue;
    }
    JsonValue value;
    const char* const begin = SkipSpace(p, inside_end);
    p = ReadJsonValue(begin, inside_end, value);
    if (p == nullptr) {
      edge = nullptr;
      break;
    }
    TakeMember(args_id, *edge, {begin, static_cast<size_t>(p - begin)}, value);
  }
  if (args_id >= 0) EndSet(args_id, edge != nullptr ? edge->place : CommonParts::kNoPlace);
  return edge != nullptr;
}

// From the end of a value, or the opening brace, to the begin of the next value. Null where there
// is none.
const MemberShapes::Edge* ArgumentSplitter::LearnEdge(uint32_t node, const char* p,
                                                      const char* end) {
  const char* const inside_end = end - 1;
  MemberShapes::Edge edge;
  const bool is_first = *p == '{' && node == MemberShapes::kRoot;
  const char* key_begin = SkipSeparators(is_first ? p + 1 : p, inside_end);
  if (key_begin >= inside_end) {
    edge.last = true;
    edge.place = parts_.AddPlace();
    edge.text.assign(p, end);
    return shapes_.Learn(node, std::move(edge));
  }
  JsonValue key;
  if (*key_begin != '"') return nullptr;
  const char* behind = ReadJsonValue(key_begin, inside_end, key);
  if (behind == nullptr) return nullptr;
  behind = SkipSpace(behind, inside_end);
  if (behind >= inside_end || *behind != ':') return nullptr;
  behind = SkipSpace(behind + 1, inside_end);
  edge.text.assign(p, behind);
  edge.key = InternText(key);
  edge.place = parts_.AddPlace();
  for (size_t i = 0; i < captured_keys_.size(); ++i) {
    if (key.text == captured_keys_[i].first) edge.slot = static_cast<int8_t>(i);
  }
  return shapes_.Learn(node, std::move(edge));
}

// False where it is to be kept as text.
bool ArgumentSplitter::TakePlainNumber(int32_t args_id, const MemberShapes::Edge& edge,
                                       const char* p, const PlainNumber& number) {
  if (edge.slot >= 0) {
    const auto slot = static_cast<size_t>(static_cast<uint8_t>(edge.slot));
    if (captured_keys_[slot].second) return false;
    if (number.is_integer) {
      values_[slot] = number.integer;
      mask_ |= 1U << slot;
    }
  }
  if (args_id < 0) return true;
  ArgumentValue kept;
  kept.key = edge.key;
  kept.kind = number.is_integer ? ArgumentValue::Kind::kInteger : ArgumentValue::Kind::kFraction;
  kept.integer = number.integer;
  kept.fraction = number.fraction;
  const std::string_view json(p, static_cast<size_t>(number.behind - p));
  if (!parts_.Take(edge.place, json, kept)) Store(args_id, kept);
  return true;
}

void ArgumentSplitter::TakeMember(int32_t args_id, const MemberShapes::Edge& edge,
                                  std::string_view json, const JsonValue& value) {
  const int32_t text = edge.slot >= 0 ? Capture(edge.slot, value) : store::kNone;
  if (args_id < 0) return;
  ArgumentValue kept = Typed(value);
  kept.key = edge.key;
  kept.text_id = text;
  if (!parts_.Take(edge.place, json, kept)) Store(args_id, kept);
}

// Writes the part that the set shares with others, where it is new.
void ArgumentSplitter::EndSet(int32_t args_id, int32_t last_place) {
  const CommonParts::Part part = parts_.End(last_place);
  if (part.id == store::kNone || part.is_new) {
    const int32_t owner = part.id == store::kNone ? args_id : part.id;
    for (const int32_t place : part.places) Store(owner, parts_.ValueAt(place));
  }
  if (part.id != store::kNone) shared_->Append({args_id, part.id});
}

void ArgumentSplitter::Store(int32_t args_id, const ArgumentValue& value) {
  switch (value.kind) {
    case ArgumentValue::Kind::kInteger:
      return ints_->Append({args_id, value.key, value.integer});
    case ArgumentValue::Kind::kFraction:
      return doubles_->Append({args_id, value.key, value.fraction});
    case ArgumentValue::Kind::kText:
      break;
  }
  const int32_t text =
      value.text_id >= 0 ? value.text_id : InternText({value.text, true, value.escaped});
  texts_->Append({args_id, value.key, value.form, text});
}

int32_t ArgumentSplitter::InternText(const JsonValue& value) {
  return value.escaped ? names_.Intern(Unescape(value.text)) : names_.Intern(value.text);
}

int32_t ArgumentSplitter::Capture(int8_t slot, const JsonValue& value) {
  const auto index = static_cast<size_t>(static_cast<uint8_t>(slot));
  int32_t text = store::kNone;
  if (captured_keys_[index].second) {
    text = InternText(value);
    values_[index] = text;
  } else {
    const auto integer = base::ParseInt64(value.text);
    if (!integer) return text;
    values_[index] = *integer;
  }
  mask_ |= 1U << index;
  return text;
}

// The same of a value that was read before.
void ArgumentSplitter::CaptureKept(int8_t slot, const ArgumentValue& value) {
  const auto index = static_cast<size_t>(static_cast<uint8_t>(slot));
  if (captured_keys_[index].second) {
    values_[index] = value.text_id;
  } else if (value.kind == ArgumentValue::Kind::kInteger) {
    values_[index] = value.integer;
  } else {
    const auto integer = base::ParseInt64(value.text);
    if (!integer) return;
    values_[index] = *integer;
  }
  mask_ |= 1U << index;
}

}  // namespace sonde::importers::trace_events

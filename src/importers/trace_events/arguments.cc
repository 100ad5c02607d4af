#include "importers/trace_events/arguments.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "base/bits.h"
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

}  // namespace

int32_t CapturedArguments::Add(uint32_t mask, std::span<const int64_t> values) {
  const auto count = static_cast<uint32_t>(base::CountBits(mask));
  auto [index, word] = words_.Add(1 + 2 * count);
  *word++ = mask;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto value = static_cast<uint64_t>(values[static_cast<size_t>(std::countr_zero(left))]);
    *word++ = static_cast<uint32_t>(value);
    *word++ = static_cast<uint32_t>(value >> 32U);
  }
  return index;
}

std::optional<int64_t> CapturedArguments::Get(int32_t index, size_t key) const {
  if (index < 0) return std::nullopt;
  const uint32_t* words = words_.At(index);
  const uint32_t bit = 1U << key;
  if ((words[0] & bit) == 0) return std::nullopt;
  const uint32_t* value = words + 1 + 2 * base::CountBits(words[0] & (bit - 1));
  return static_cast<int64_t>(value[0] | (uint64_t{value[1]} << 32U));
}

ArgumentSplitter::ArgumentSplitter(const std::vector<CapturedKey>& keys, NameCache& names,
                                   std::atomic<int32_t>& next_id, BlockArena* arena)
    : names_(names), next_id_(next_id), known_(4096), next_bypass_(kBypassSets), captured_(arena) {
  CHECK(keys.size() <= kMaxCapturedKeys);
  for (const CapturedKey& key : keys) captured_keys_.emplace_back(key.key, key.is_text);
}

Status ArgumentSplitter::Open(store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(ints_, store::TableWriter<store::ArgsIntRow>::Open(transaction));
  SONDE_ASSIGN_OR_RETURN(doubles_, store::TableWriter<store::ArgsDoubleRow>::Open(transaction));
  SONDE_ASSIGN_OR_RETURN(texts_, store::TableWriter<store::ArgsTextRow>::Open(transaction));
  return {};
}

Status ArgumentSplitter::Close() {
  if (!ints_) return {};
  SONDE_RETURN_IF_ERROR(ints_->Close());
  SONDE_RETURN_IF_ERROR(doubles_->Close());
  return texts_->Close();
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
      // The longer sets have been different, the longer until they are looked at again.
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

// False where the text stops to be JSON; what stands before is taken.
bool ArgumentSplitter::Split(std::string_view object, int32_t args_id) {
  const char* p = object.data();
  const char* const end = p + object.size();
  const char* const inside_end = end - 1;
  uint32_t node = MemberShapes::kRoot;
  while (true) {
    const MemberShapes::Edge* edge = shapes_.Match(node, p, end);
    if (edge == nullptr) edge = LearnEdge(node, p, end);
    if (edge == nullptr) return false;
    if (edge->last) return true;
    p += edge->text.size();
    node = edge->node;
    const PlainNumber number = ReadPlainNumber(p, end);
    if (number.behind != nullptr && TakePlainNumber(args_id, *edge, number)) {
      p = number.behind;
      continue;
    }
    JsonValue value;
    p = ReadJsonValue(SkipSpace(p, inside_end), inside_end, value);
    if (p == nullptr) return false;
    TakeMember(args_id, *edge, value);
  }
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
  for (size_t i = 0; i < captured_keys_.size(); ++i) {
    if (key.text == captured_keys_[i].first) edge.slot = static_cast<int8_t>(i);
  }
  return shapes_.Learn(node, std::move(edge));
}

// False where it is to be kept as text.
bool ArgumentSplitter::TakePlainNumber(int32_t args_id, const MemberShapes::Edge& edge,
                                       const PlainNumber& number) {
  if (edge.slot >= 0) {
    const auto slot = static_cast<size_t>(static_cast<uint8_t>(edge.slot));
    if (captured_keys_[slot].second) return false;
    if (number.is_integer) {
      values_[slot] = number.integer;
      mask_ |= 1U << slot;
    }
  }
  if (args_id < 0) return true;
  if (number.is_integer) {
    ints_->Append({args_id, edge.key, number.integer});
  } else {
    doubles_->Append({args_id, edge.key, number.fraction});
  }
  return true;
}

void ArgumentSplitter::TakeMember(int32_t args_id, const MemberShapes::Edge& edge,
                                  const JsonValue& value) {
  int32_t text = store::kNone;
  if (edge.slot >= 0) text = Capture(edge.slot, value);
  if (text >= 0 && value.is_string) {
    if (args_id >= 0) texts_->Append({args_id, edge.key, kText, text});
  } else if (args_id >= 0) {
    StoreValue(args_id, edge.key, value);
  }
}

int32_t ArgumentSplitter::InternText(const JsonValue& value) {
  return value.escaped ? names_.Intern(Unescape(value.text)) : names_.Intern(value.text);
}

void ArgumentSplitter::StoreText(int32_t args_id, int32_t key, int16_t form,
                                 const JsonValue& value) {
  texts_->Append({args_id, key, form, InternText(value)});
}

void ArgumentSplitter::StoreValue(int32_t args_id, int32_t key, const JsonValue& value) {
  if (value.is_string) return StoreText(args_id, key, kText, value);
  if (!IsNumberText(value.text)) return StoreText(args_id, key, kJson, value);
  const char* const begin = value.text.data();
  const char* const end = begin + value.text.size();
  int64_t integer = 0;
  const auto as_integer = std::from_chars(begin, end, integer);
  if (as_integer.ec == std::errc() && as_integer.ptr == end &&
      (value.text != "-0" && (value.text[0] != '0' || value.text.size() == 1))) {
    ints_->Append({args_id, key, integer});
    return;
  }
  // An integer that does not fit stays as it was written.
  const bool is_integer = value.text.find_first_of(".eE") == std::string_view::npos;
  double number = 0;
  const auto as_double = std::from_chars(begin, end, number);
  if (!is_integer && as_double.ec == std::errc() && as_double.ptr == end &&
      IsShortest(number, value.text)) {
    doubles_->Append({args_id, key, number});
  } else {
    StoreText(args_id, key, kNumber, value);
  }
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

}  // namespace sonde::importers::trace_events

#include "importers/trace_events/common_parts.h"

#include <algorithm>

namespace sonde::importers::trace_events {
namespace {

constexpr int32_t kWatched = 256;  // values of a place before the decision
constexpr size_t kMostDifferent =
    64;                             // limit of distinct ones, where the values count as repeating
constexpr size_t kLeastValues = 2;  // a reference is as much as a value
constexpr int32_t kLooksToJudge = 512;  // for parts of one shape of sets

}  // namespace

int32_t CommonParts::AddPlace() {
  if (places_.size() >= kMaxPlaces) return kNoPlace;
  places_.emplace_back();
  return static_cast<int32_t>(places_.size()) - 1;
}

void CommonParts::Learn(Place& place, std::string_view json) {
  const uint64_t hash = base::HashString(json);
  std::vector<uint64_t>& different = place.different;
  if (std::find(different.begin(), different.end(), hash) == different.end()) {
    different.push_back(hash);
  }
  const bool repeats = different.size() <= kMostDifferent;
  if (++place.seen >= kWatched || !repeats) {
    place.habit = repeats ? Habit::kCommon : Habit::kOwn;
    different = {};
  }
}

bool CommonParts::Take(int32_t number, std::string_view json, const ArgumentValue& value) {
  if (number < 0) return false;
  Place& place = At(number);
  if (place.habit == Habit::kLearning) {
    Learn(place, json);
    return false;
  }
  if (place.habit == Habit::kOwn) return false;
  place.json.assign(json);
  place.value = value;
  const bool is_text = value.kind == ArgumentValue::Kind::kText;
  place.text_at = is_text ? static_cast<uint32_t>(value.text.data() - json.data()) : 0;
  place.text_size = static_cast<uint32_t>(value.text.size());
  // Two hashes: no part is taken for another.
  place.key = {base::HashString(json, static_cast<uint64_t>(number)),
               base::HashString(json, ~static_cast<uint64_t>(number))};
  const size_t known = std::min(json.size(), sizeof(uint64_t));
  place.word = 0;
  std::memcpy(&place.word, json.data(), known);
  place.mask = ~uint64_t{0} >> (8 * (sizeof(uint64_t) - known));
  Join(number, place);
  return true;
}

ArgumentValue CommonParts::ValueAt(int32_t number) const {
  const Place& place = At(number);
  ArgumentValue value = place.value;
  value.text = std::string_view(place.json).substr(place.text_at, place.text_size);
  return value;
}

CommonParts::Part CommonParts::End(int32_t last_place) {
  if (ended_) return {};  // nothing was kept
  ended_ = true;
  if (present_.size() < kLeastValues || last_place < 0) return {.places = present_};
  Place& last = At(last_place);
  bool is_new = false;
  if (last.last_part == store::kNone || last.last_key != key_) {
    if (parts_.size() >= kMaxParts) parts_.clear();
    const auto [part, inserted] = parts_.try_emplace(key_);
    if (inserted) part->second = next_id_.fetch_sub(1);
    last.last_key = key_;
    last.last_part = part->second;
    is_new = inserted;
  }
  Judge(last, is_new);
  return {last.last_part, is_new, present_};
}

// Parts that come once each save nothing.
void CommonParts::Judge(Place& last, bool in_vain) {
  last.looks_in_vain += in_vain ? 1 : 0;
  if (++last.looks < kLooksToJudge) return;
  if (last.looks_in_vain * 2 > last.looks) {
    for (const int32_t place : present_) {
      At(place).habit = Habit::kOwn;
      At(place).mask = 0;
    }
  }
  last.looks = 0;
  last.looks_in_vain = 0;
}

}  // namespace sonde::importers::trace_events

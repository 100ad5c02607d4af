// Common parts of argument sets: a kernel's grid, device and stream, say, or the types of an
// operator's inputs. Such a part is kept once, and the sets refer to it (table args_shared), so
// that only the differences are written for each set. That saves half of the rows of traces in
// which no two sets are equal.
//
// A place is the position of a value in a shape of sets (an edge of the ShapeTree). Its first
// values are watched; where they repeat, the place belongs to the part from then on, and a repeated
// text is recognized by its bytes, without being parsed. Where parts turn out to differ nearly as
// often as the sets do, their places are left alone.
//
// Memory: bounded (kMaxPlaces, kMaxParts). One thread; all of an import share the numbers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "importers/trace_events/json_text.h"
#include "store/rows.h"

namespace sonde::importers::trace_events {

// An argument as the store keeps it.
struct ArgumentValue {
  enum class Kind : int8_t { kInteger, kFraction, kText };

  int32_t key = store::kNone;  // name id
  Kind kind = Kind::kInteger;
  bool escaped = false;            // the text is in JSON form
  int16_t form = 0;                // of a text, as in table args_text
  int32_t text_id = store::kNone;  // of a text, where it has been interned
  int64_t integer = 0;
  double fraction = 0;
  std::string_view text;
};

class CommonParts {
 public:
  static constexpr int32_t kNoPlace = -1;
  // Parts are numbered downwards from here: below the sets, and below "none".
  static constexpr int32_t kFirstId = -2;

  struct Part {
    int32_t id = store::kNone;        // none: the values are the set's own
    bool is_new = false;              // has not been returned before
    std::span<const int32_t> places;  // of its values
  };

  // `next_id` is that of all threads of an import.
  explicit CommonParts(std::atomic<int32_t>& next_id) : next_id_(next_id) {}

  // A new place, or kNoPlace where there are too many.
  int32_t AddPlace();
  // Takes the value at `p` where it equals the last text of the place, and moves `p` behind it;
  // false where not.
  bool TakeRepeated(int32_t place, const char*& p, const char* end);
  // Takes a value whose JSON text is `json`. False: it is the set's own.
  bool Take(int32_t place, std::string_view json, const ArgumentValue& value);
  // Ends the set, which ended at `last_place`. Its places hold until the next value is taken.
  Part End(int32_t last_place);
  // The last value of the place. Its text holds until the next value is taken.
  ArgumentValue ValueAt(int32_t place) const;

 private:
  static constexpr size_t kMaxPlaces = 8192;
  static constexpr size_t kMaxParts = size_t{1} << 16U;

  enum class Habit : uint8_t { kLearning, kOwn, kCommon };
  struct Key {
    uint64_t hash = 0;
    uint64_t check = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.hash; }
  };
  struct Place {
    Habit habit = Habit::kLearning;
    uint64_t word = 0;  // the first bytes of the text, and a mask of them
    uint64_t mask = 0;
    Key key;  // of the value
    std::string json;
    ArgumentValue value;  // without its text, which is in `json`
    uint32_t text_at = 0;
    uint32_t text_size = 0;
    // While it learns.
    int32_t seen = 0;
    std::vector<uint64_t> different;
    // Of the parts of sets that end here.
    int32_t looks = 0;
    int32_t looks_in_vain = 0;
    Key last_key;
    int32_t last_part = store::kNone;
  };

  Place& At(int32_t place) { return places_[static_cast<size_t>(place)]; }
  const Place& At(int32_t place) const { return places_[static_cast<size_t>(place)]; }
  static void Learn(Place& place, std::string_view json);
  void Join(int32_t number, const Place& place);
  void Judge(Place& last, bool in_vain);

  std::atomic<int32_t>& next_id_;
  std::vector<Place> places_;
  std::vector<int32_t> present_;  // places of the present set's part
  Key key_;                       // of their values
  bool ended_ = false;
  std::unordered_map<Key, int32_t, KeyHash> parts_;
};

inline void CommonParts::Join(int32_t number, const Place& place) {
  if (ended_) {
    present_.clear();
    key_ = {};
    ended_ = false;
  }
  present_.push_back(number);
  key_.hash = base::HashCombine(key_.hash, place.key.hash);
  key_.check = base::HashCombine(place.key.check, key_.check);
}

inline bool CommonParts::TakeRepeated(int32_t number, const char*& p, const char* end) {
  if (number < 0) return false;
  const Place& place = At(number);
  if (place.mask == 0) return false;
  const size_t size = place.json.size();
  if (end - p < static_cast<ptrdiff_t>(size + sizeof(uint64_t))) return false;
  if (((base::LoadLe<uint64_t>(p) ^ place.word) & place.mask) != 0) return false;
  if (size > sizeof(uint64_t) && std::memcmp(p, place.json.data(), size) != 0) return false;
  if (!EndsScalar(p[size])) return false;
  p += size;
  Join(number, place);
  return true;
}

}  // namespace sonde::importers::trace_events

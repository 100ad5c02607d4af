#include "precision/compare/pairing.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>

#include "base/hash.h"
#include "base/strings.h"
#include "precision/compare/rules.h"
#include "precision/dump/text_arena.h"

namespace sonde::precision {
namespace {

bool IsNumber(std::string_view part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// Where the call number of a name stands: [begin, end) of its digits, or begin == npos.
struct NumberPlace {
  size_t begin = std::string_view::npos;
  size_t end = 0;
};

NumberPlace FindCallNumber(std::string_view name) {
  for (const std::string_view word : {std::string_view("forward"), std::string_view("backward")}) {
    for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
      const size_t end = at + word.size();
      const bool whole = at > 0 && name[at - 1] == '.' && (end == name.size() || name[end] == '.');
      if (!whole) continue;
      // Modules carry the number behind the word, other calls before it.
      if (name.starts_with("Module.") || name.starts_with("Cell.")) {
        if (end == name.size()) continue;
        const size_t stop = std::min(name.find('.', end + 1), name.size());
        if (IsNumber(name.substr(end + 1, stop - end - 1))) return {end + 1, stop};
        continue;
      }
      const size_t dot = name.rfind('.', at - 2);
      if (at >= 2 && dot != std::string_view::npos &&
          IsNumber(name.substr(dot + 1, at - dot - 2))) {
        return {dot + 1, at - 1};
      }
    }
  }
  return {};
}

// Multimap from key to rows in order, each handed out once.
class RowIndex {
 public:
  explicit RowIndex(size_t rows) : next_(rows, kNoPartner) {
    size_t capacity = 16;
    while (capacity < rows * 2) capacity *= 2;
    slots_.resize(capacity);
  }

  // All rows are added before the first is taken.
  void Add(std::string_view key, int32_t row) {
    Slot& slot = Find(key);
    if (slot.first == kUnused) {
      slot = {key, row, row};
      return;
    }
    next_[static_cast<size_t>(slot.last)] = row;
    slot.last = row;
  }

  int32_t Take(std::string_view key) {
    Slot& slot = Find(key);
    if (slot.first < 0) return kNoPartner;
    const int32_t row = slot.first;
    slot.first = next_[static_cast<size_t>(row)];
    return row;
  }

 private:
  static constexpr int32_t kUnused = -2;
  struct Slot {
    std::string_view key;
    int32_t first = kUnused;
    int32_t last = kUnused;
  };

  Slot& Find(std::string_view key) {
    size_t at = base::HashString(key) & (slots_.size() - 1);
    while (slots_[at].first != kUnused && slots_[at].key != key) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return slots_[at];
  }

  std::vector<Slot> slots_;
  std::vector<int32_t> next_;
};

// The key of every row of one dump under the default rule.
class RowKeys {
 public:
  RowKeys(const DumpFile& dump, bool renumber_backward) : dump_(dump) {
    if (!renumber_backward) return;
    api_keys_.reserve(dump.apis().size());
    std::unordered_map<std::string, int64_t, base::StringHash, std::equal_to<>> seen;
    for (const DumpApi& api : dump.apis()) {
      api_keys_.push_back(BackwardKey(api.name, &seen));
    }
  }

  std::string_view KeyOf(const DumpRow& row) {
    if (api_keys_.empty()) return row.name;
    const std::string_view key = api_keys_[row.api];
    const std::string_view api = dump_.apis()[row.api].name;
    if (key.empty() || !row.name.starts_with(api)) return row.name;
    return arena_.Concat({key, row.name.substr(api.size())});
  }

 private:
  // Empty for entries that keep their number.
  template <class Seen>
  std::string_view BackwardKey(std::string_view name, Seen* seen) {
    if (name.find("backward") == std::string_view::npos) return {};
    const NumberPlace place = FindCallNumber(name);
    if (place.begin == std::string_view::npos) return {};
    const int64_t index =
        (*seen)[base::Concat(name.substr(0, place.begin), name.substr(place.end))]++;
    base::NumberBuffer buffer;
    const std::string_view text = base::FormatInt64(index, buffer);
    if (text == name.substr(place.begin, place.end - place.begin)) return {};
    return arena_.Concat({name.substr(0, place.begin), text, name.substr(place.end)});
  }

  const DumpFile& dump_;
  TextArena arena_;
  std::vector<std::string_view> api_keys_;
};

Pairing FuzzyPairs(const DumpFile& target, const DumpFile& golden, const PairingOptions& options) {
  const auto keys_of = [&](const DumpFile& dump, bool map, TextArena* arena) {
    std::vector<std::string_view> keys;
    keys.reserve(dump.rows().size());
    for (const DumpRow& row : dump.rows()) {
      const std::string name =
          map && options.map_key ? options.map_key(row.name) : std::string(row.name);
      keys.push_back(arena->Store(WithoutCallNumber(name)));
    }
    return keys;
  };
  TextArena arena;
  Pairing pairing;
  pairing.golden_of = AlignKeys(keys_of(target, true, &arena), keys_of(golden, false, &arena));
  return pairing;
}

Pairing NamePairs(const DumpFile& target, const DumpFile& golden, const PairingOptions& options) {
  RowKeys golden_keys(golden, options.renumber_backward);
  RowIndex index(golden.rows().size());
  for (size_t i = 0; i < golden.rows().size(); ++i) {
    index.Add(golden_keys.KeyOf(golden.rows()[i]), static_cast<int32_t>(i));
  }
  RowKeys target_keys(target, options.renumber_backward);
  Pairing pairing;
  pairing.golden_of.reserve(target.rows().size());
  for (const DumpRow& row : target.rows()) {
    const std::string_view own_key = target_keys.KeyOf(row);
    int32_t partner = options.map_key ? index.Take(options.map_key(own_key)) : index.Take(own_key);
    if (partner != kNoPartner && options.dtype_gate &&
        !DtypesFit(row.dtype, golden.rows()[static_cast<size_t>(partner)].dtype,
                   options.cross_framework)) {
      partner = kNoPartner;
    }
    pairing.golden_of.push_back(partner);
  }
  return pairing;
}

// One side of the two queues of AlignKeys(): which keys wait, oldest first.
struct WaitingKeys {
  std::unordered_map<std::string_view, std::deque<size_t>> positions;
  size_t begin = 0;  // first position that still waits

  // The oldest waiting position of the key, or npos.
  size_t Oldest(std::string_view key) {
    const auto found = positions.find(key);
    if (found == positions.end()) return std::string_view::npos;
    auto& queue = found->second;
    while (!queue.empty() && queue.front() < begin) queue.pop_front();
    return queue.empty() ? std::string_view::npos : queue.front();
  }
};

}  // namespace

std::string WithoutCallNumber(std::string_view name, std::string_view* number) {
  const NumberPlace place = FindCallNumber(name);
  if (place.begin == std::string_view::npos) {
    if (number != nullptr) *number = {};
    return std::string(name);
  }
  if (number != nullptr) *number = name.substr(place.begin, place.end - place.begin);
  // The dot before the number goes with it.
  return base::Concat(name.substr(0, place.begin - 1), name.substr(place.end));
}

bool DtypesFit(std::string_view target, std::string_view golden, bool cross_framework) {
  if (target == golden) return true;
  if (cross_framework) return DtypeFamily(target) == DtypeFamily(golden);
  static constexpr std::array<std::string_view, 4> kTorch = {"torch.float16", "torch.float32",
                                                             "torch.bfloat16", "torch.float64"};
  static constexpr std::array<std::string_view, 4> kMindSpore = {"Float16", "Float32", "BFloat16",
                                                                 "Float64"};
  const auto both_in = [&](const auto& set) {
    return std::find(set.begin(), set.end(), target) != set.end() &&
           std::find(set.begin(), set.end(), golden) != set.end();
  };
  return both_in(kTorch) || both_in(kMindSpore);
}

std::vector<int32_t> AlignKeys(const std::vector<std::string_view>& target,
                               const std::vector<std::string_view>& golden) {
  std::vector<int32_t> golden_of(target.size(), kNoPartner);
  WaitingKeys targets;
  WaitingKeys goldens;
  const auto pair = [&](size_t t, size_t g) {
    golden_of[t] = static_cast<int32_t>(g);
    targets.begin = t + 1;
    goldens.begin = g + 1;
  };
  for (size_t i = 0; i < std::max(target.size(), golden.size()); ++i) {
    const bool has_target = i < target.size();
    const bool has_golden = i < golden.size();
    const size_t target_end = std::min(i + 1, target.size());
    const size_t golden_end = std::min(i + 1, golden.size());
    // One side is used up and nothing of it waits: nothing can match any more.
    if ((targets.begin >= target_end) != (goldens.begin >= golden_end)) break;
    // The newest target looks for the oldest golden key, its contemporary being the youngest.
    if (has_golden) goldens.positions[golden[i]].push_back(i);
    if (has_target) {
      const size_t g = goldens.Oldest(target[i]);
      if (g != std::string_view::npos) {
        pair(i, g);
        continue;
      }
      targets.positions[target[i]].push_back(i);
    }
    if (has_golden) {
      const size_t t = targets.Oldest(golden[i]);
      if (t != std::string_view::npos) pair(t, i);
    }
  }
  return golden_of;
}

Pairing PairRows(const DumpFile& target, const DumpFile& golden, const PairingOptions& options) {
  Pairing pairing =
      options.fuzzy ? FuzzyPairs(target, golden, options) : NamePairs(target, golden, options);
  std::vector<bool> taken(golden.rows().size(), false);
  for (const int32_t row : pairing.golden_of) {
    if (row != kNoPartner) taken[static_cast<size_t>(row)] = true;
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) pairing.golden_only.push_back(static_cast<int32_t>(i));
  }
  return pairing;
}

}  // namespace sonde::precision

// A table from the ids of a trace to their values.
//
// Its memory comes from a pool, so that it may leave the process with the rows (spill.h): numbers
// that are close, as those of one time mostly are, are close in the table too. Pointers are valid
// until the next Insert. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/host/spill.h"

namespace sonde::importers {

template <class Value>
class NumberTable {
 public:
  explicit NumberTable(base::SpillPool* pool) : entries_(base::SpillAllocator<Entry>(pool)) {}

  // The value of `number`, and whether it is new: then it is a copy of `value`.
  std::pair<Value*, bool> Insert(int64_t number, const Value& value) {
    if ((count_ + 1) * 2 > entries_.size()) Grow();
    Entry& entry = entries_[Slot(number)];
    const bool is_new = !entry.used;
    if (is_new) {
      entry = {number, value, true};
      ++count_;
    }
    return {&entry.value, is_new};
  }

  // Null where there is none.
  Value* Find(int64_t number) { return const_cast<Value*>(std::as_const(*this).Find(number)); }
  const Value* Find(int64_t number) const {
    if (entries_.empty()) return nullptr;
    const Entry& entry = entries_[Slot(number)];
    return entry.used ? &entry.value : nullptr;
  }

  // Calls take(number, value) in the order of the numbers.
  template <class Take>
  void ForEach(Take&& take) const {
    std::vector<int64_t> numbers;
    numbers.reserve(count_);
    for (const Entry& entry : entries_) {
      if (entry.used) numbers.push_back(entry.number);
    }
    std::sort(numbers.begin(), numbers.end());
    for (const int64_t number : numbers) take(number, *Find(number));
  }

 private:
  static constexpr uint64_t kGroup = 16;
  struct Entry {
    int64_t number = 0;
    Value value = {};
    bool used = false;
  };

  // A group of sixteen numbers shares a place, in which each begins at its last hexadecimal digit.
  size_t Slot(int64_t number) const {
    const auto bits = static_cast<uint64_t>(number);
    const size_t mask = entries_.size() - 1;
    size_t slot = (base::HashInt(bits / kGroup) * kGroup + bits % kGroup) & mask;
    while (entries_[slot].used && entries_[slot].number != number) slot = (slot + 1) & mask;
    return slot;
  }

  void Grow() {
    base::SpillVector<Entry> old(std::max<size_t>(64, entries_.size() * 2),
                                 entries_.get_allocator());
    old.swap(entries_);
    base::SpillSteps steps(entries_.get_allocator().pool());
    for (const Entry& entry : old) {
      steps.Next();
      if (entry.used) entries_[Slot(entry.number)] = entry;
    }
  }

  base::SpillVector<Entry> entries_;  // size a power of two
  size_t count_ = 0;
};

}  // namespace sonde::importers

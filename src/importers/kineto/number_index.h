// Slices by a number that the trace gives them: external id, correlation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/host/spill.h"
#include "store/rows.h"

namespace sonde::importers::kineto {

class NumberIndex {
 public:
  explicit NumberIndex(base::SpillPool* pool)
      : list_(base::SpillAllocator<Entry>(pool)), dense_(base::SpillAllocator<int32_t>(pool)) {}

  void Reserve(size_t count) { list_.reserve(count); }
  // The first slice of a number counts.
  void Add(int64_t number, int32_t slice_id) {
    low_ = std::min(low_, number);
    high_ = std::max(high_, number);
    list_.emplace_back(number, slice_id);
  }

  // After the last Add. Numbers that lie close together become a plain array.
  void Finish() {
    if (list_.empty()) return;
    const uint64_t range = static_cast<uint64_t>(high_) - static_cast<uint64_t>(low_);
    if (range < list_.size() * 8) {
      base::SpillSteps steps(list_.get_allocator().pool());
      dense_.reserve(range + 1);
      for (uint64_t i = 0; i <= range; ++i) {
        steps.Next();
        dense_.push_back(store::kNone);
      }
      for (const auto& [number, slice] : list_) {
        steps.Next();
        int32_t& place = dense_[static_cast<size_t>(number - low_)];
        if (place < 0) place = slice;
      }
      list_ = base::SpillVector<Entry>(list_.get_allocator());
    } else {
      std::stable_sort(list_.begin(), list_.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
  }

  // -1 where there is none.
  int32_t Find(int64_t number) const {
    if (!dense_.empty()) {
      const uint64_t place = static_cast<uint64_t>(number) - static_cast<uint64_t>(low_);
      return place < dense_.size() ? dense_[place] : store::kNone;
    }
    const auto found =
        std::lower_bound(list_.begin(), list_.end(), number,
                         [](const auto& entry, int64_t n) { return entry.first < n; });
    return found != list_.end() && found->first == number ? found->second : store::kNone;
  }

 private:
  using Entry = std::pair<int64_t, int32_t>;
  base::SpillVector<Entry> list_;
  int64_t low_ = INT64_MAX;
  int64_t high_ = INT64_MIN;
  base::SpillVector<int32_t> dense_;
};

}  // namespace sonde::importers::kineto

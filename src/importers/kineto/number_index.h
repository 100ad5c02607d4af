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
  static constexpr int32_t kAmbiguous = -2;

  explicit NumberIndex(base::SpillPool* pool)
      : list_(base::SpillAllocator<Entry>(pool)), dense_(base::SpillAllocator<int32_t>(pool)) {}

  bool empty() const { return list_.empty() && dense_.empty(); }
  void Reserve(size_t count) { list_.reserve(count); }
  // The first slice of a number counts.
  void Add(int64_t number, int32_t slice_id) {
    low_ = std::min(low_, number);
    high_ = std::max(high_, number);
    list_.emplace_back(number, slice_id);
  }

  // After the last Add. Numbers that are close together become a plain array. A number that slices
  // of several owners have, owner(slice_id), is ambiguous.
  template <class Owner>
  void Finish(const Owner& owner) {
    if (list_.empty()) return;
    const uint64_t range = static_cast<uint64_t>(high_) - static_cast<uint64_t>(low_);
    const auto join = [&](int32_t& first, int32_t slice) {
      if (first == store::kNone) {
        first = slice;
      } else if (first >= 0 && owner(first) != owner(slice)) {
        first = kAmbiguous;
      }
    };
    base::SpillSteps steps(list_.get_allocator().pool());
    if (range < list_.size() * 8) {
      dense_.reserve(range + 1);
      for (uint64_t i = 0; i <= range; ++i) {
        steps.Next();
        dense_.push_back(store::kNone);
      }
      for (const auto& [number, slice] : list_) {
        steps.Next();
        join(dense_[static_cast<size_t>(number - low_)], slice);
      }
      list_ = base::SpillVector<Entry>(list_.get_allocator());
      return;
    }
    std::stable_sort(list_.begin(), list_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 1, first = 0; i < list_.size(); ++i) {
      steps.Next();
      if (list_[i].first != list_[first].first) {
        first = i;
      } else {
        join(list_[first].second, list_[i].second);
      }
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

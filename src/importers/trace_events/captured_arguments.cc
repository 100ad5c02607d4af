#include "importers/trace_events/captured_arguments.h"

#include <bit>

#include "base/bits.h"

namespace sonde::importers::trace_events {

// Not in the header: inlined with -O1, GCC 12 takes the empty results for uninitialized ones.
std::optional<int64_t> CapturedSet::Get(size_t key) const {
  if (words_ == nullptr) return std::nullopt;
  const uint32_t head = words_[0];
  const uint32_t bit = 1U << key;
  if ((head & bit) == 0) return std::nullopt;
  const int before = base::CountBits(head & (bit - 1));
  if ((head & kIsWide) == 0) return words_[1 + before];
  const uint32_t* value = words_ + 1 + 2 * before;
  return static_cast<int64_t>(value[0] | (uint64_t{value[1]} << 32U));
}

int32_t CapturedArguments::Add(uint32_t mask, std::span<const int64_t> values) {
  const auto for_each = [&](auto&& take) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      take(static_cast<uint64_t>(values[static_cast<size_t>(std::countr_zero(left))]));
    }
  };
  uint64_t all = 0;
  for_each([&](uint64_t value) { all |= value; });
  const bool is_wide = all > UINT32_MAX;
  const auto count = static_cast<uint32_t>(base::CountBits(mask));
  auto [index, word] = words_.Add(1 + (is_wide ? 2 * count : count));
  *word++ = mask | (is_wide ? CapturedSet::kIsWide : 0);
  for_each([&, next = word](uint64_t value) mutable {
    *next++ = static_cast<uint32_t>(value);
    if (is_wide) *next++ = static_cast<uint32_t>(value >> 32U);
  });
  return index;
}

}  // namespace sonde::importers::trace_events

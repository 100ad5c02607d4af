#include "importers/trace_events/captured_arguments.h"

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

}  // namespace sonde::importers::trace_events

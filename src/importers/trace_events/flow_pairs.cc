#include "importers/trace_events/flow_pairs.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "base/hash.h"

namespace sonde::importers::trace_events {
namespace {

constexpr uint32_t kNoPair = UINT32_MAX;

int Rank(char phase) { return phase == 's' ? 0 : phase == 't' ? 1 : 2; }

}  // namespace

FlowPairs::FlowPairs(const Blocks<FlowEnd>& list, base::SpillPool* pool, size_t part_ends)
    : flows_(base::SpillAllocator<Flow>(pool)) {
  // The upper half of the hash: the lower one gives the place in the table of a part.
  const uint64_t parts = std::bit_ceil(list.size() / part_ends + 1);
  const auto part_of = [&](uint64_t key) { return (base::HashInt(key) >> 32U) & (parts - 1); };
  flows_.reserve(list.size() / 2);  // nearly all have two ends
  std::vector<size_t> sizes(parts);
  list.ForEach([&](uint32_t, const FlowEnd& end) { ++sizes[part_of(end.key)]; });
  for (uint64_t part = 0; part < parts; ++part) {
    base::SpillVector<End> ends{base::SpillAllocator<End>(pool)};
    ends.reserve(sizes[part]);
    list.ForEach([&](uint32_t place, const FlowEnd& end) {
      if (part_of(end.key) == part) ends.push_back({end.key, end.ts, place, end.phase});
    });
    TakePart(ends, pool);
  }
  const auto by_time = [](const Flow& a, const Flow& b) {
    return std::tie(a.ts, a.from, a.to) < std::tie(b.ts, b.from, b.to);
  };
  if (!std::is_sorted(flows_.begin(), flows_.end(), by_time)) {
    std::sort(flows_.begin(), flows_.end(), by_time);
  }
}

bool FlowPairs::IsBefore(const End& a, const End& b) {
  return std::tuple(a.ts, Rank(a.phase), a.place) < std::tuple(b.ts, Rank(b.phase), b.place);
}

// Ends of one key form a chain from the last to the first of the file; a table holds the last.
void FlowPairs::TakePart(const base::SpillVector<End>& part, base::SpillPool* pool) {
  const base::SpillAllocator<uint32_t> memory(pool);
  base::SpillVector<uint32_t> last(std::bit_ceil(part.size() * 2 + 1), kNoPair, memory);
  base::SpillVector<uint32_t> before(part.size(), kNoPair, memory);
  const auto slot_of = [&](uint64_t key) {
    size_t slot = base::HashInt(key) & (last.size() - 1);
    while (last[slot] != kNoPair && part[last[slot]].key != key)
      slot = (slot + 1) & (last.size() - 1);
    return slot;
  };
  base::SpillSteps steps(pool);
  for (uint32_t i = 0; i < part.size(); ++i) {
    steps.Next();
    before[i] = std::exchange(last[slot_of(part[i].key)], i);
  }
  std::vector<const End*> ends;
  for (uint32_t i = 0; i < part.size(); ++i) {
    steps.Next();
    if (before[i] != kNoPair) continue;  // a key is taken at its first end
    ends.clear();
    for (uint32_t at = last[slot_of(part[i].key)]; at != kNoPair; at = before[at]) {
      ends.push_back(&part[at]);
    }
    std::sort(ends.begin(), ends.end(),
              [](const End* a, const End* b) { return IsBefore(*a, *b); });
    TakeGroup(ends);
  }
}

void FlowPairs::TakeGroup(const std::vector<const End*>& ends) {
  const auto first =
      std::find_if(ends.begin(), ends.end(), [](const End* end) { return end->phase == 's'; });
  if (first == ends.end()) {
    unpaired_ += static_cast<int64_t>(ends.size());
    return;
  }
  const End* from = *first;
  const End* idle = nullptr;  // one that left, of which none has arrived
  for (const End* end : ends) {
    if (end->phase != 's') {
      flows_.push_back({from->ts, from->place, end->place});
      idle = nullptr;
    } else {
      if (idle != nullptr) ++repeated_;
      const bool is_taken = end == *first && end != ends.front();  // by those before it
      idle = is_taken ? nullptr : end;
    }
    if (end->phase != 'f') from = end;
  }
  if (idle != nullptr) ++unpaired_;
}

}  // namespace sonde::importers::trace_events

#include <algorithm>
#include <cstdlib>
#include <map>

#include "compare/verdict/verdict.h"

namespace sonde::compare {
namespace {

template <class Function>
void ForEachBlock(const Side& side, Function&& function) {
  for (const auto* blocks : {&side.blocks, &side.blocks_without_call}) {
    for (const MemoryBlock& block : *blocks) function(block);
  }
}

// The moment at which the most is alive; what is freed at a moment is gone when others come.
int64_t PeakOf(const Side& side) {
  struct Change {
    int64_t ts;
    int64_t bytes;
  };
  std::vector<Change> changes;
  ForEachBlock(side, [&](const MemoryBlock& block) {
    changes.push_back({block.alloc_ns, block.size_bytes});
    if (block.free_ns >= block.alloc_ns) changes.push_back({block.free_ns, -block.size_bytes});
  });
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.ts != b.ts ? a.ts < b.ts : a.bytes < b.bytes;
  });
  int64_t now = 0;
  int64_t most = -1;
  int64_t peak_ns = 0;
  for (const Change& change : changes) {
    now += change.bytes;
    if (now <= most) continue;
    most = now;
    peak_ns = change.ts;
  }
  return peak_ns;
}

std::string_view OwnerOf(const Side& side, const MemoryBlock& block) {
  if (block.owner != kNone) return side.Name(block.owner);
  return block.op == kNone ? "outside of operators" : side.Name(side.OpAt(block.op).name);
}

}  // namespace

std::vector<AliveAtPeak> ComparePeaks(const Side& base, const Side& comparison) {
  for (const Side* side : {&base, &comparison}) {
    if (side->blocks.empty() && side->blocks_without_call.empty()) return {};
  }
  std::map<std::string, AliveAtPeak, std::less<>> by_owner;
  AliveAtPeak all;
  const Side* sides[] = {&base, &comparison};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t peak_ns = PeakOf(*sides[i]);
    ForEachBlock(*sides[i], [&](const MemoryBlock& block) {
      const bool is_freed = block.free_ns >= block.alloc_ns && block.free_ns <= peak_ns;
      if (block.alloc_ns > peak_ns || is_freed) return;
      const std::string owner(OwnerOf(*sides[i], block));
      AliveAtPeak& one = by_owner[owner];
      one.owner = owner;
      for (AliveAtPeak* sum : {&one, &all}) {
        sum->bytes[i] += block.size_bytes;
        ++sum->blocks[i];
      }
    });
  }
  std::vector<AliveAtPeak> rows = {all};
  for (auto& [owner, one] : by_owner) rows.push_back(std::move(one));
  std::stable_sort(rows.begin() + 1, rows.end(), [](const AliveAtPeak& a, const AliveAtPeak& b) {
    return std::abs(a.DiffBytes()) > std::abs(b.DiffBytes());
  });
  return rows;
}

}  // namespace sonde::compare

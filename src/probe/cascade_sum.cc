#include "probe/cascade_sum.h"

#include <algorithm>
#include <bit>

namespace sonde::probe {
namespace {

constexpr size_t kRows = 4;
constexpr size_t kLevels = 4;

// kRows rows of kLanes sums.
template <size_t kLanes>
struct Block {
  float sums[kRows * kLanes] = {};

  void Add(const float* data) {
    for (size_t i = 0; i < kRows * kLanes; i++) sums[i] += data[i];
  }
};

size_t LevelBits(size_t size) {
  const size_t bits = size < 2 ? 0 : static_cast<size_t>(std::bit_width(size - 1));
  return std::max<size_t>(4, bits / kLevels);
}

// Adds `size` blocks of numbers.
template <size_t kLanes>
Block<kLanes> AddBlocks(const float* data, size_t size) {
  constexpr size_t kStep = kRows * kLanes;
  const size_t bits = LevelBits(size);
  const size_t run = size_t{1} << bits;
  Block<kLanes> levels[kLevels];
  size_t i = 0;
  while (i + run <= size) {
    for (const size_t end = i + run; i < end; i++) levels[0].Add(data + i * kStep);
    for (size_t level = 1; level < kLevels; level++) {
      levels[level].Add(levels[level - 1].sums);
      levels[level - 1] = {};
      if ((i & ((run - 1) << (level * bits))) != 0) break;
    }
  }
  for (; i < size; i++) levels[0].Add(data + i * kStep);
  for (size_t level = 1; level < kLevels; level++) levels[0].Add(levels[level].sums);
  return levels[0];
}

// Sums of `count` rows of kLanes numbers, lane by lane, in `lanes`.
template <size_t kLanes>
void AddRows(const float* data, size_t count, float* lanes) {
  const size_t blocks = count / kRows;
  Block<kLanes> total = AddBlocks<kLanes>(data, blocks);
  for (size_t row = blocks * kRows; row < count; row++) {
    for (size_t lane = 0; lane < kLanes; lane++) total.sums[lane] += data[row * kLanes + lane];
  }
  for (size_t lane = 0; lane < kLanes; lane++) {
    lanes[lane] = total.sums[lane];
    for (size_t row = 1; row < kRows; row++) lanes[lane] += total.sums[row * kLanes + lane];
  }
}

}  // namespace

float CascadeSum(const float* data, size_t count) {
  constexpr size_t kLanes = 8;
  float lanes[kLanes];
  if (count < kLanes) {
    AddRows<1>(data, count, lanes);
    return lanes[0];
  }
  const size_t rows = count / kLanes;
  AddRows<kLanes>(data, rows, lanes);
  float sum = 0;
  for (size_t i = rows * kLanes; i < count; i++) sum += data[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace sonde::probe

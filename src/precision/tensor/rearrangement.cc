#include "precision/tensor/rearrangement.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;
using Hashes = std::vector<uint64_t>;

constexpr int64_t kBlock = 4096;

// The numbers at each place of each axis, in row-major order of the rest; and all of them without
// order.
struct Slices {
  std::vector<Hashes> of_axis;
  uint64_t all = 0;
};

Slices SlicesOf(const Tensor& tensor) {
  Slices out;
  const std::vector<int64_t>& shape = tensor.shape();
  for (const int64_t length : shape) out.of_axis.emplace_back(static_cast<size_t>(length), 0);
  std::vector<size_t> at(shape.size(), 0);
  std::vector<double> values(kBlock);
  for (int64_t begin = 0; begin < tensor.element_count(); begin += kBlock) {
    const int64_t count = std::min(kBlock, tensor.element_count() - begin);
    tensor.ReadDoubles(begin, static_cast<size_t>(count), values.data());
    for (int64_t i = 0; i < count; ++i) {
      // One zero: signs of zeros are no order.
      const auto hash =
          base::HashInt(std::bit_cast<uint64_t>(values[static_cast<size_t>(i)] + 0.0));
      out.all += hash;
      for (size_t axis = 0; axis < at.size(); ++axis) {
        uint64_t& slice = out.of_axis[axis][at[axis]];
        slice = base::HashCombine(slice, hash);
      }
      for (size_t axis = at.size(); axis-- > 0;) {
        if (++at[axis] < out.of_axis[axis].size()) break;
        at[axis] = 0;
      }
    }
    tensor.Release(begin, begin + count);
  }
  return out;
}

std::string AxisName(size_t axis, size_t axes) {
  if (axes == 1) return "elements";
  if (axis == 0) return "rows";
  return axes == 2 ? "columns" : Concat("places of axis ", std::to_string(axis));
}

// Rotary embeddings turn either neighbours or the two halves of a head.
bool IsPairsOfHalves(const Hashes& pairs, const Hashes& halves, size_t group) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    const size_t inside = i % group;
    const size_t from = i - inside + inside % 2 * (group / 2) + inside / 2;
    if (pairs[i] != halves[from]) return false;
  }
  return true;
}

std::string PairsText(const Hashes& target, const Hashes& golden, std::string_view name) {
  for (size_t group = 4; group <= target.size(); group += 2) {
    if (target.size() % group != 0) continue;
    const bool pairs = IsPairsOfHalves(target, golden, group);
    if (!pairs && !IsPairsOfHalves(golden, target, group)) continue;
    return Concat(pairs ? "pairs" : "halves", " of ", name, " where golden has ",
                  pairs ? "halves" : "pairs", ", in groups of ", std::to_string(group));
  }
  return {};
}

std::string AxisText(const Hashes& target, const Hashes& golden, std::string_view name) {
  if (target == golden) return {};
  Hashes ours = target;
  Hashes theirs = golden;
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  if (ours != theirs) return {};
  if (std::equal(target.rbegin(), target.rend(), golden.begin())) {
    return Concat(name, " in reverse order");
  }
  std::string pairs = PairsText(target, golden, name);
  if (!pairs.empty()) return pairs;
  size_t moved = 0;
  for (size_t i = 0; i < target.size(); ++i) moved += target[i] != golden[i] ? 1 : 0;
  return Concat(std::to_string(moved), " of its ", std::to_string(target.size()), " ", name,
                " stand elsewhere");
}

}  // namespace

std::string RearrangementText(const Tensor& target, const Tensor& golden) {
  if (IsComplex(target.dtype()) || IsComplex(golden.dtype()) ||
      target.element_count() != golden.element_count() || target.element_count() < 2) {
    return {};
  }
  const Slices ours = SlicesOf(target);
  const Slices theirs = SlicesOf(golden);
  if (ours.all != theirs.all) return {};
  const size_t axes = ours.of_axis.size();
  const bool same_shape = target.shape() == golden.shape();
  if (same_shape && ours.of_axis == theirs.of_axis) return {};
  if (axes == 2 && theirs.of_axis.size() == 2 && ours.of_axis[0] == theirs.of_axis[1] &&
      ours.of_axis[1] == theirs.of_axis[0]) {
    return "transposed";
  }
  for (size_t axis = 0; same_shape && axis < axes; ++axis) {
    std::string text = AxisText(ours.of_axis[axis], theirs.of_axis[axis], AxisName(axis, axes));
    if (!text.empty()) return text;
  }
  return "in another order";
}

}  // namespace sonde::precision

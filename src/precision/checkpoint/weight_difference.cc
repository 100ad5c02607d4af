#include "precision/checkpoint/weight_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "base/host/parallel.h"

namespace sonde::precision {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kBlock = 4096;
constexpr int64_t kPiece = int64_t{1} << 20;

void Begin(WeightNumbers* out) {
  out->max = -std::numeric_limits<double>::infinity();
  out->min = std::numeric_limits<double>::infinity();
}

void Add(const WeightNumbers& part, WeightNumbers* to) {
  to->max = std::max(to->max, part.max);
  to->min = std::min(to->min, part.min);
  to->sum += part.sum;
  to->squares += part.squares;
  to->nan += part.nan;
  to->infinite += part.infinite;
  to->hash = base::HashCombine(to->hash, part.hash);
}

void End(WeightNumbers* out) {
  if (out->max < out->min) out->max = out->min = std::nan("");
}

// Moments of a block; infinities and NaN are counted and become 0 in it.
void Measure(double* values, size_t count, WeightNumbers* to) {
  WeightNumbers block;
  Begin(&block);
  block.hash = base::HashBytes(values, count * sizeof(double));
  double sums[kLanes] = {};
  double squares[kLanes] = {};
  for (size_t i = 0; i < count; ++i) {
    const double value = values[i];
    if (!std::isfinite(value)) {
      (std::isnan(value) ? block.nan : block.infinite) += 1;
      values[i] = 0;
      continue;
    }
    block.max = std::max(block.max, value);
    block.min = std::min(block.min, value);
    sums[i % kLanes] += value;
    squares[i % kLanes] += value * value;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    block.sum += sums[lane];
    block.squares += squares[lane];
  }
  Add(block, to);
}

bool SameBits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

struct Scale {
  double unit = 0;      // of the coarser type
  double smallest = 0;  // below it steps no longer shrink
};

void Compare(const double* target, const double* golden, size_t count, int64_t at,
             const Scale& scale, WeightDifference* to) {
  for (size_t i = 0; i < count; ++i) {
    if (SameBits(target[i], golden[i])) continue;
    const int64_t place = at + static_cast<int64_t>(i);
    if (to->first < 0) to->first = place;
    to->last = place;
    ++to->different;
    const double difference = std::fabs(target[i] - golden[i]);
    if (!std::isfinite(difference)) {
      to->max_units = std::numeric_limits<double>::infinity();
      continue;
    }
    const double larger = std::max(std::fabs(target[i]), std::fabs(golden[i]));
    const double step = scale.unit * std::max(larger, scale.smallest);
    to->max_difference = std::max(to->max_difference, difference);
    const double units = step > 0 ? difference / step : std::numeric_limits<double>::infinity();
    to->max_units = std::max(to->max_units, units);
  }
}

void AddProducts(const double* target, const double* golden, size_t count, WeightDifference* to) {
  double dots[kLanes] = {};
  double squares[kLanes] = {};
  for (size_t i = 0; i < count; ++i) {
    const double difference = target[i] - golden[i];
    dots[i % kLanes] += target[i] * golden[i];
    squares[i % kLanes] += difference * difference;
  }
  double dot = 0;
  double square = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    dot += dots[lane];
    square += squares[lane];
  }
  to->dot += dot;
  to->squares += square;
}

void Add(const WeightDifference& part, WeightDifference* to) {
  Add(part.target, &to->target);
  Add(part.golden, &to->golden);
  to->dot += part.dot;
  to->squares += part.squares;
  to->max_difference = std::max(to->max_difference, part.max_difference);
  to->max_units = std::max(to->max_units, part.max_units);
  to->different += part.different;
  if (to->first < 0) to->first = part.first;
  if (part.last >= 0) to->last = part.last;
}

// Complex elements are two numbers each.
size_t NumbersIn(const Tensor& tensor) { return IsComplex(tensor.dtype()) ? 2 : 1; }

// Calls body(begin, end, piece) for the pieces of a tensor in parallel.
template <class Part, class Body>
std::vector<Part> Pieces(int64_t elements, const Body& body) {
  std::vector<Part> parts(static_cast<size_t>((elements + kPiece - 1) / kPiece));
  base::ParallelFor(parts.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto from = static_cast<int64_t>(i) * kPiece;
      body(from, std::min(from + kPiece, elements), &parts[i]);
    }
  });
  return parts;
}

double SmallestNormal(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return 0x1p-14;
    case Dtype::kFloat8E4m3fn:
      return 0x1p-6;
    case Dtype::kFloat8E5m2:
      return 0x1p-14;
    case Dtype::kFloat64:
      return 0x1p-1022;
    default:
      return 0x1p-126;
  }
}

}  // namespace

double UnitRoundoff(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
    case Dtype::kComplex32:
      return 0x1p-11;
    case Dtype::kBfloat16:
      return 0x1p-8;
    case Dtype::kFloat32:
    case Dtype::kComplex64:
      return 0x1p-24;
    case Dtype::kFloat64:
    case Dtype::kComplex128:
      return 0x1p-53;
    case Dtype::kFloat8E4m3fn:
    case Dtype::kFloat8E4m3fnuz:
      return 0x1p-4;
    case Dtype::kFloat8E5m2:
    case Dtype::kFloat8E5m2fnuz:
      return 0x1p-3;
    case Dtype::kFloat8E8m0fnu:
      return 0x1p-1;
    default:
      return 0;
  }
}

WeightDifference CompareWeights(const Tensor& target, const Tensor& golden) {
  const bool target_is_coarser = UnitRoundoff(target.dtype()) >= UnitRoundoff(golden.dtype());
  const Dtype coarser = target_is_coarser ? target.dtype() : golden.dtype();
  const Scale scale = {UnitRoundoff(coarser), SmallestNormal(coarser)};
  const size_t width = std::max(NumbersIn(target), NumbersIn(golden));
  WeightDifference out;
  Begin(&out.target);
  Begin(&out.golden);
  const auto body = [&](int64_t begin, int64_t end, WeightDifference* part) {
    Begin(&part->target);
    Begin(&part->golden);
    std::vector<double> a(kBlock * width);
    std::vector<double> b(kBlock * width);
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(kBlock)) {
      const auto count = static_cast<size_t>(std::min<int64_t>(kBlock, end - at));
      target.ReadDoubles(at, count, a.data());
      golden.ReadDoubles(at, count, b.data());
      Compare(a.data(), b.data(), count * width, at * static_cast<int64_t>(width), scale, part);
      Measure(a.data(), count * width, &part->target);
      Measure(b.data(), count * width, &part->golden);
      AddProducts(a.data(), b.data(), count * width, part);
    }
    target.Release(begin, end);
    golden.Release(begin, end);
  };
  for (const WeightDifference& part : Pieces<WeightDifference>(target.element_count(), body)) {
    Add(part, &out);
  }
  End(&out.target);
  End(&out.golden);
  return out;
}

WeightNumbers NumbersOf(const Tensor& tensor) {
  WeightNumbers out;
  Begin(&out);
  const size_t width = NumbersIn(tensor);
  const auto body = [&](int64_t begin, int64_t end, WeightNumbers* part) {
    Begin(part);
    std::vector<double> values(kBlock * width);
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(kBlock)) {
      const auto count = static_cast<size_t>(std::min<int64_t>(kBlock, end - at));
      tensor.ReadDoubles(at, count, values.data());
      Measure(values.data(), count * width, part);
    }
    tensor.Release(begin, end);
  };
  for (const WeightNumbers& part : Pieces<WeightNumbers>(tensor.element_count(), body)) {
    Add(part, &out);
  }
  End(&out);
  return out;
}

}  // namespace sonde::precision

#include "precision/tensor/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "base/float16.h"
#include "base/host/parallel.h"

// Inlined into functions that are compiled for wider registers than the rest of the program.
#define SONDE_INLINE [[gnu::always_inline]] inline

namespace sonde::precision {
namespace {

constexpr size_t kMetricLanes = 8;
constexpr size_t kMetricBlock = 4096;               // elements that stay in the first-level cache
constexpr int64_t kMetricPiece = int64_t{1} << 20;  // elements summed by one thread at a time
constexpr double kDecimals = 12;
constexpr double kCosineCoarse = 0.9999;  // above it six decimals are kept

struct Sums {
  double dot = 0;
  double target_squares = 0;
  double golden_squares = 0;
  double difference_squares = 0;
  double max_difference = 0;
  double max_relative = 0;
  uint64_t below_one = 0;   // r < 0.001
  uint64_t below_five = 0;  // r < 0.005
  bool specials_differ = false;

  SONDE_INLINE void Add(const Sums& other) {
    dot += other.dot;
    target_squares += other.target_squares;
    golden_squares += other.golden_squares;
    difference_squares += other.difference_squares;
    max_difference = std::max(max_difference, other.max_difference);
    max_relative = std::max(max_relative, other.max_relative);
    below_one += other.below_one;
    below_five += other.below_five;
    specials_differ = specials_differ || other.specials_differ;
  }
};

// Lane-wise partial sums of one block; the fixed width lets the compiler use vector registers
// without changing the order of additions.
template <class T>
struct Lanes {
  double dot[kMetricLanes] = {};
  double target_squares[kMetricLanes] = {};
  double golden_squares[kMetricLanes] = {};
  double difference_squares[kMetricLanes] = {};
  double max_difference[kMetricLanes] = {};
  T max_relative[kMetricLanes] = {};
  uint32_t below_one[kMetricLanes] = {};
  uint32_t below_five[kMetricLanes] = {};

  SONDE_INLINE void Step(const T* n, const T* b) {
    constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
    for (size_t i = 0; i < kMetricLanes; ++i) {
      const auto nd = static_cast<double>(n[i]);
      const auto bd = static_cast<double>(b[i]);
      const double difference = nd - bd;
      dot[i] += nd * bd;
      target_squares[i] += nd * nd;
      golden_squares[i] += bd * bd;
      difference_squares[i] += difference * difference;
      const double magnitude = std::fabs(difference);
      max_difference[i] = magnitude > max_difference[i] ? magnitude : max_difference[i];
      const T add = b[i] == T{0} ? kEpsilon : T{0};
      const T shifted = b[i] + add;
      const T relative = std::fabs(((n[i] + add) - shifted) / shifted);
      max_relative[i] = relative > max_relative[i] ? relative : max_relative[i];
      below_one[i] += relative < T(0.001) ? 1U : 0U;
      below_five[i] += relative < T(0.005) ? 1U : 0U;
    }
  }

  SONDE_INLINE Sums Total() const {
    Sums out;
    for (size_t i = 0; i < kMetricLanes; ++i) {
      Sums lane;
      lane.dot = dot[i];
      lane.target_squares = target_squares[i];
      lane.golden_squares = golden_squares[i];
      lane.difference_squares = difference_squares[i];
      lane.max_difference = max_difference[i];
      lane.max_relative = static_cast<double>(max_relative[i]);
      lane.below_one = below_one[i];
      lane.below_five = below_five[i];
      out.Add(lane);
    }
    return out;
  }
};

template <class T>
SONDE_INLINE bool AllFinite(const T* values, size_t count) {
  // x * 0 is 0 for finite numbers and NaN for all others.
  T sum[kMetricLanes] = {};
  size_t i = 0;
  for (; i + kMetricLanes <= count; i += kMetricLanes) {
    for (size_t lane = 0; lane < kMetricLanes; ++lane) sum[lane] += values[i + lane] * T{0};
  }
  T total = 0;
  for (const T lane : sum) total += lane;
  for (; i < count; ++i) total += values[i] * T{0};
  return total == T{0};
}

// Sets positions that are special on both sides to 0; false when they differ.
template <class T>
bool ClearSpecials(T* n, T* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (std::isnan(n[i]) != std::isnan(b[i]) || std::isinf(n[i]) != std::isinf(b[i])) return false;
    if (!std::isfinite(n[i])) n[i] = b[i] = T{0};
  }
  return true;
}

template <class T>
void ReadBlock(const Tensor& tensor, int64_t begin, size_t count, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    tensor.ReadFloats(begin, count, out);
  } else {
    tensor.ReadDoubles(begin, count, out);
  }
}

// One block of real numbers. The padding of the last lane group is equal on both sides and has
// relative error 0; it is taken out of the counts.
template <class T>
SONDE_INLINE Sums SumBlock(T* n, T* b, size_t count) {
  if (!AllFinite(n, count) || !AllFinite(b, count)) {
    if (!ClearSpecials(n, b, count)) {
      Sums out;
      out.specials_differ = true;
      return out;
    }
  }
  Lanes<T> lanes;
  const size_t padded = (count + kMetricLanes - 1) / kMetricLanes * kMetricLanes;
  for (size_t i = count; i < padded; ++i) n[i] = b[i] = T{0};
  for (size_t i = 0; i < padded; i += kMetricLanes) lanes.Step(n + i, b + i);
  Sums out = lanes.Total();
  out.below_one -= padded - count;
  out.below_five -= padded - count;
  return out;
}

// The same additions in the same order for every processor, so the same sums: AVX2 alone brings no
// fused operations.
template <class T>
Sums SumBlockPlain(T* n, T* b, size_t count) {
  return SumBlock(n, b, count);
}

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2")]] Sums SumBlockAvx2(T* n, T* b, size_t count) {
  return SumBlock(n, b, count);
}
#endif

template <class T>
auto ChooseSumBlock() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") != 0) return &SumBlockAvx2<T>;
#endif
  return &SumBlockPlain<T>;
}

template <class T>
Sums SumPiece(const Tensor& target, const Tensor& golden, int64_t begin, int64_t end) {
  alignas(64) T n[kMetricBlock];
  alignas(64) T b[kMetricBlock];
  const auto sum_block = ChooseSumBlock<T>();
  Sums out;
  while (begin < end && !out.specials_differ) {
    const auto count = static_cast<size_t>(std::min<int64_t>(kMetricBlock, end - begin));
    ReadBlock(target, begin, count, n);
    ReadBlock(golden, begin, count, b);
    out.Add(sum_block(n, b, count));
    begin += static_cast<int64_t>(count);
  }
  return out;
}

// Complex numbers: the dot product is the real part of <n, b>, magnitudes are moduli.
Sums SumComplexPiece(const Tensor& target, const Tensor& golden, int64_t begin, int64_t end) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  std::vector<double> n(kMetricBlock * 2);
  std::vector<double> b(kMetricBlock * 2);
  Sums out;
  while (begin < end && !out.specials_differ) {
    const auto count = static_cast<size_t>(std::min<int64_t>(kMetricBlock, end - begin));
    target.ReadDoubles(begin, count, n.data());
    golden.ReadDoubles(begin, count, b.data());
    if (!ClearSpecials(n.data(), b.data(), count * 2)) out.specials_differ = true;
    for (size_t i = 0; i < count * 2; i += 2) {
      const double difference = std::hypot(n[i] - b[i], n[i + 1] - b[i + 1]);
      out.dot += n[i] * b[i] + n[i + 1] * b[i + 1];
      out.target_squares += n[i] * n[i] + n[i + 1] * n[i + 1];
      out.golden_squares += b[i] * b[i] + b[i + 1] * b[i + 1];
      out.difference_squares += difference * difference;
      out.max_difference = std::max(out.max_difference, difference);
      const double size = std::hypot(b[i], b[i + 1]);
      const double relative = difference / (size == 0 ? kEpsilon : size);
      out.max_relative = std::max(out.max_relative, relative);
      out.below_one += relative < 0.001 ? 1U : 0U;
      out.below_five += relative < 0.005 ? 1U : 0U;
    }
    begin += static_cast<int64_t>(count);
  }
  return out;
}

Sums SumAll(const Tensor& target, const Tensor& golden) {
  const int64_t count = target.element_count();
  const bool complex = IsComplex(target.dtype()) || IsComplex(golden.dtype());
  const bool narrow = IsFloatOrNarrower(target.dtype()) && IsFloatOrNarrower(golden.dtype());
  const auto piece = complex ? &SumComplexPiece : narrow ? &SumPiece<float> : &SumPiece<double>;
  std::vector<Sums> sums(static_cast<size_t>((count + kMetricPiece - 1) / kMetricPiece));
  base::ParallelFor(sums.size(), [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      const int64_t begin = static_cast<int64_t>(i) * kMetricPiece;
      const int64_t end = std::min(begin + kMetricPiece, count);
      sums[i] = piece(target, golden, begin, end);
      // A file may be larger than the memory. Small ones are unmapped soon anyway.
      if (sums.size() > 1) {
        target.Release(begin, end);
        golden.Release(begin, end);
      }
    }
  });
  Sums out;
  for (const Sums& part : sums) out.Add(part);
  return out;
}

// The nearest double to `value` rounded to decimals, as Python's round() finds it.
double RoundDecimals(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  char text[512];
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, decimals);
  double out = value;
  std::from_chars(text, end.ptr, out);
  return out;
}

Cell Rounded(double value) {
  return Cell::Number(RoundDecimals(value, static_cast<int>(kDecimals)));
}

Cell CosineCell(const Sums& sums) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const double target = std::sqrt(sums.target_squares);
  const double golden = std::sqrt(sums.golden_squares);
  if (target <= kEpsilon && golden <= kEpsilon) return Cell::Number(1.0);
  if (target <= kEpsilon || golden <= kEpsilon) return Cell::Of(Cell::Kind::kNan);
  const double cosine = RoundDecimals(sums.dot / (target * golden), static_cast<int>(kDecimals));
  return Cell::Number(cosine > kCosineCoarse ? RoundDecimals(cosine, 6) : cosine);
}

// A single number is subtracted in its own type; only longer tensors are widened before.
double ScalarDifference(Dtype target, Dtype golden, double n, double b) {
  const double difference = std::fabs(n - b);
  if (IsComplex(target) || !IsFloatOrNarrower(target) || !IsFloatOrNarrower(golden)) {
    return difference;
  }
  const auto single = static_cast<float>(difference);
  const bool half = target == Dtype::kFloat16 && golden == Dtype::kFloat16;
  return static_cast<double>(half ? base::HalfToFloat(base::FloatToHalf(single)) : single);
}

// A tensor of one element after squeezing: only the two maxima mean something.
std::array<Cell, kMaxCells> CompareScalars(const Tensor& target, const Tensor& golden) {
  std::array<Cell, kMaxCells> cells = UniformCells(Cell::Kind::kUnsupported);
  double n[2] = {};
  double b[2] = {};
  target.ReadDoubles(0, 1, n);
  golden.ReadDoubles(0, 1, b);
  if (!std::isfinite(n[0]) || !std::isfinite(b[0])) {
    const double difference = std::fabs(n[0] - b[0]);
    cells[kMaxAbsErr] = Cell::Number(difference);
    cells[kMaxRelativeErr] = Cell::Number(std::fabs((n[0] - b[0]) / b[0]));
    return cells;
  }
  cells[kMaxAbsErr] = Rounded(ScalarDifference(target.dtype(), golden.dtype(), n[0], b[0]));
  cells[kMaxRelativeErr] = Rounded(SumAll(target, golden).max_relative);
  return cells;
}

}  // namespace

std::array<Cell, kMaxCells> UniformCells(Cell::Kind kind) {
  std::array<Cell, kMaxCells> cells;
  cells.fill(Cell::Of(kind));
  return cells;
}

std::array<Cell, kMaxCells> CompareTensors(const Tensor& target, const Tensor& golden) {
  if (target.element_count() == 0) return UniformCells(Cell::Kind::kUnsupported);
  // One complex side only: there is no common meaning.
  if (IsComplex(target.dtype()) != IsComplex(golden.dtype())) {
    return UniformCells(Cell::Kind::kUnsupported);
  }
  const std::vector<int64_t> shape = target.SqueezedShape();
  if (shape != golden.SqueezedShape()) return UniformCells(Cell::Kind::kShapeUnmatched);
  if (shape.empty()) return CompareScalars(target, golden);
  const Sums sums = SumAll(target, golden);
  if (sums.specials_differ) return UniformCells(Cell::Kind::kNotAvailable);
  const auto count = static_cast<double>(target.element_count());
  std::array<Cell, kMaxCells> cells;
  cells[kCosine] = CosineCell(sums);
  cells[kEucDist] = Cell::Number(std::sqrt(sums.difference_squares));
  cells[kMaxAbsErr] = Rounded(sums.max_difference);
  cells[kMaxRelativeErr] = Rounded(sums.max_relative);
  cells[kOneThousandth] = Rounded(static_cast<double>(sums.below_one) / count);
  cells[kFiveThousandths] = Rounded(static_cast<double>(sums.below_five) / count);
  return cells;
}

}  // namespace sonde::precision

#include "probe/statistics.h"

#include <cmath>
#include <complex>
#include <limits>

#include "base/bytes.h"
#include "base/float16.h"
#include "probe/cascade_sum.h"
#include "probe/moments.h"

namespace sonde::probe {
namespace {

using Kind = Number::Kind;

Number Real(double value) { return {.kind = Kind::kFloat, .real = value}; }
Number Bool(bool value) { return {.kind = Kind::kBool, .integer = value ? 1 : 0}; }
template <class T>
Number Integer(T value) {
  return {.kind = std::is_signed_v<T> ? Kind::kInt : Kind::kUInt,
          .integer = static_cast<int64_t>(value)};
}

// Visits pieces with one kernel and its totals.
template <class Element, class Totals>
class KernelVisitor : public PieceVisitor {
 public:
  using Kernel = void (*)(const Element* data, size_t count, Totals* totals);
  KernelVisitor(Kernel kernel, Totals totals) : kernel_(kernel), totals_(totals) {}
  void Visit(const void* data, size_t count) override {
    kernel_(static_cast<const Element*>(data), count, &totals_);
  }
  const Totals& totals() const { return totals_; }

 private:
  Kernel kernel_;
  Totals totals_;
};

template <class Element, class Totals>
Totals Total(const TensorView& view, void (*kernel)(const Element*, size_t, Totals*),
             Totals start) {
  KernelVisitor<Element, Totals> visitor(kernel, start);
  VisitUnordered(view, visitor);
  return visitor.totals();
}

float Round(float value, ElementType type) {
  if (type == ElementType::kFloat16) return base::HalfToFloat(base::FloatToHalf(value));
  if (type == ElementType::kBFloat16) return base::BFloat16ToFloat(base::FloatToBFloat16(value));
  return value;
}

Statistics OfFloats(const FloatMoments& moments, const TensorView& view,
                    const StatisticsOptions& options) {
  Statistics out;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  out.max = Real(moments.has_nan ? nan : static_cast<double>(moments.max));
  out.min = Real(moments.has_nan ? nan : static_cast<double>(moments.min));
  if (!options.with_sums) return out;
  auto sum = static_cast<float>(moments.sum);
  if (view.type == ElementType::kFloat32 && view.Count() <= kMaxCascadeCount &&
      (view.IsContiguous() || view.IsDense())) {
    sum = CascadeSum(static_cast<const float*>(view.data), view.Count());
  }
  if (options.mean_rounds_sum) sum = Round(sum, view.type);
  const float mean = sum / static_cast<float>(view.Count());
  // The norm of a single element is its magnitude: no square that overflows.
  const float norm = view.Count() == 1 && !moments.has_nan
                         ? std::fabs(moments.max)
                         : std::sqrt(static_cast<float>(moments.sum_of_squares));
  out.mean = Real(Round(mean, view.type));
  out.norm = Real(Round(norm, view.type));
  return out;
}

Statistics OfDoubles(const TensorView& view) {
  const auto totals = Total(view, Moments().float64, DoubleExtremes());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {.max = Real(totals.has_nan ? nan : totals.max),
          .min = Real(totals.has_nan ? nan : totals.min)};
}

template <class T>
Statistics OfIntegers(const TensorView& view,
                      void (*kernel)(const T* data, size_t count, Extremes<T>* totals)) {
  const auto totals = Total(
      view, kernel,
      Extremes<T>{.max = std::numeric_limits<T>::min(), .min = std::numeric_limits<T>::max()});
  return {.max = Integer(totals.max), .min = Integer(totals.min)};
}

// Magnitudes in the precision of the parts.
template <class T>
class MagnitudeVisitor : public PieceVisitor {
 public:
  void Visit(const void* data, size_t count) override {
    const auto* bytes = static_cast<const std::byte*>(data);
    for (size_t i = 0; i < count; i++, bytes += 2 * sizeof(T)) {
      const T magnitude = std::hypot(base::LoadLe<T>(bytes), base::LoadLe<T>(bytes + sizeof(T)));
      sum_ += static_cast<double>(magnitude);
      has_nan_ = has_nan_ || std::isnan(magnitude);
      if (magnitude > max_) max_ = magnitude;
      if (magnitude < min_) min_ = magnitude;
    }
  }
  Statistics Take(size_t count) const {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    Statistics out;
    out.max = Real(static_cast<double>(has_nan_ ? nan : max_));
    out.min = Real(static_cast<double>(has_nan_ ? nan : min_));
    out.mean = Real(static_cast<double>(static_cast<T>(sum_) / static_cast<T>(count)));
    return out;
  }

 private:
  double sum_ = 0;
  bool has_nan_ = false;
  T max_ = 0;
  T min_ = std::numeric_limits<T>::infinity();
};

template <class T>
Statistics OfComplex(const TensorView& view) {
  MagnitudeVisitor<T> visitor;
  VisitUnordered(view, visitor);
  return visitor.Take(view.Count());
}

Statistics OfArray(const TensorView& view, const StatisticsOptions& options) {
  const MomentKernels& kernels = Moments();
  switch (view.type) {
    case ElementType::kFloat32:
      return OfFloats(Total(view, kernels.float32, FloatMoments()), view, options);
    case ElementType::kFloat16:
      return OfFloats(Total(view, kernels.float16, FloatMoments()), view, options);
    case ElementType::kBFloat16:
      return OfFloats(Total(view, kernels.bfloat16, FloatMoments()), view, options);
    case ElementType::kFloat64:
      return OfDoubles(view);
    case ElementType::kInt8:
      return OfIntegers(view, kernels.int8);
    case ElementType::kInt16:
      return OfIntegers(view, kernels.int16);
    case ElementType::kInt32:
      return OfIntegers(view, kernels.int32);
    case ElementType::kInt64:
      return OfIntegers(view, kernels.int64);
    case ElementType::kUInt8:
      return OfIntegers(view, kernels.uint8);
    case ElementType::kUInt16:
      return OfIntegers(view, kernels.uint16);
    case ElementType::kUInt32:
      return OfIntegers(view, kernels.uint32);
    case ElementType::kUInt64:
      return OfIntegers(view, kernels.uint64);
    case ElementType::kBool: {
      const auto totals = Total(view, kernels.uint8, Extremes<uint8_t>{.max = 0, .min = 255});
      return {.max = Bool(totals.max != 0), .min = Bool(totals.min != 0)};
    }
    case ElementType::kComplex64:
      return OfComplex<float>(view);
    case ElementType::kComplex128:
      return OfComplex<double>(view);
    case ElementType::kFloat8:
    case ElementType::kOther:
      return {};
  }
  return {};
}

}  // namespace

Statistics ComputeStatistics(const TensorView& view, const StatisticsOptions& options) {
  if (view.data == nullptr || view.Count() == 0) return {};
  Statistics out = OfArray(view, options);
  const bool is_complex =
      view.type == ElementType::kComplex64 || view.type == ElementType::kComplex128;
  if (view.shape.empty() && view.type != ElementType::kBool && !is_complex) {
    out.mean = out.norm = out.max;
  }
  return out;
}

}  // namespace sonde::probe

// The kernels of moments.h for the instruction set that the including file is compiled for. No
// inline function from elsewhere may be used here: the linker could keep this file's copy of it
// for everybody.
//
// Included by the three moments_<set>.cc only, hence no guard against repeated inclusion.
#define HWY_COMPILE_ONLY_STATIC
#include "hwy/highway.h"
#include "probe/moments.h"

HWY_BEFORE_NAMESPACE();
namespace sonde::probe::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using DoubleTag = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<DoubleTag>;

// So many vectors of each stream are summed in single precision before the total goes to double.
constexpr size_t kRun = 32;

// Bytes from where memory is read to where it is asked for: the processor does not look beyond the
// end of a page by itself.
constexpr size_t kAhead = 4096;

// One of two independent streams, which hide the latency of addition, between two transfers.
struct Stream {
  FloatVector sum = hn::Zero(FloatTag());
  FloatVector squares = hn::Zero(FloatTag());

  HWY_INLINE void Add(FloatVector v) {
    sum = hn::Add(sum, v);
    squares = hn::MulAdd(v, v, squares);
  }
};

// Two of them hide the latency of comparison.
struct FloatExtremes {
  FloatVector max = hn::Set(FloatTag(), -__builtin_inff());
  FloatVector min = hn::Set(FloatTag(), __builtin_inff());

  HWY_INLINE void Extend(FloatVector v) {
    max = hn::Max(v, max);
    min = hn::Min(v, min);
  }
};

// Totals while they are spread over vectors. The extremes are of no use once there was NaN, which
// shows in the squares: they have no other way to become NaN.
struct Accumulator {
  FloatExtremes first;
  FloatExtremes second;
  DoubleVector sum = hn::Zero(DoubleTag());
  DoubleVector squares = hn::Zero(DoubleTag());

  HWY_INLINE void Extend(FloatVector a, FloatVector b) {
    first.Extend(a);
    second.Extend(b);
  }
  HWY_INLINE void Transfer(const Stream& a, const Stream& b) {
    sum = AddAsDouble(sum, hn::Add(a.sum, b.sum));
    squares = AddAsDouble(squares, hn::Add(a.squares, b.squares));
  }

 private:
  static HWY_INLINE DoubleVector AddAsDouble(DoubleVector total, FloatVector v) {
    const DoubleTag d;
    const hn::Rebind<float, DoubleTag> half;
    total = hn::Add(total, hn::PromoteTo(d, hn::LowerHalf(half, v)));
    return hn::Add(total, hn::PromoteTo(d, hn::UpperHalf(half, v)));
  }
};

// How two vectors of floats are loaded from each format; kStep elements at once.
struct FromFloat32 {
  using Element = float;
  static constexpr size_t kStep = 2 * hn::MaxLanes(FloatTag());
  static HWY_INLINE void Load(const float* from, FloatVector& a, FloatVector& b) {
    a = hn::LoadU(FloatTag(), from);
    b = hn::LoadU(FloatTag(), from + hn::Lanes(FloatTag()));
  }
};

// Even and odd elements are separated: their order is of no interest.
struct FromBFloat16 {
  using Element = uint16_t;
  static constexpr size_t kStep = 2 * hn::MaxLanes(FloatTag());
  static HWY_INLINE void Load(const uint16_t* from, FloatVector& a, FloatVector& b) {
    const hn::ScalableTag<uint16_t> d16;
    const hn::ScalableTag<uint32_t> d32;
    const auto pairs = hn::BitCast(d32, hn::LoadU(d16, from));
    a = hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs));
    b = hn::BitCast(FloatTag(), hn::And(pairs, hn::Set(d32, 0xffff0000U)));
  }
};

#if defined(__x86_64__) && !defined(__F16C__)
// Without an instruction for it, Highway takes infinity for a number: the bits are moved to where
// float has them and scaled, which is exact for subnormals too; the largest exponent is set apart.
HWY_INLINE FloatVector HalvesToFloats(const uint16_t* from) {
  const hn::Rebind<uint16_t, FloatTag> d16;
  const hn::ScalableTag<uint32_t> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, from));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d32, 0x8000U)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(d32, 0x7fffU)));
  const auto scaled = hn::Mul(hn::BitCast(FloatTag(), magnitude), hn::Set(FloatTag(), 0x1p112F));
  const auto special = hn::BitCast(FloatTag(), hn::Or(magnitude, hn::Set(d32, 0x7f800000U)));
  const auto is_special = hn::Ge(scaled, hn::Set(FloatTag(), 65536.0F));
  const auto absolute = hn::IfThenElse(is_special, special, scaled);
  return hn::Or(absolute, hn::BitCast(FloatTag(), sign));
}
#else
HWY_INLINE FloatVector HalvesToFloats(const uint16_t* from) {
  const hn::Rebind<hwy::float16_t, FloatTag> d16;
  return hn::PromoteTo(FloatTag(), hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
}
#endif

struct FromFloat16 {
  using Element = uint16_t;
  static constexpr size_t kStep = 2 * hn::MaxLanes(FloatTag());
  static HWY_INLINE void Load(const uint16_t* from, FloatVector& a, FloatVector& b) {
    a = HalvesToFloats(from);
    b = HalvesToFloats(from + hn::Lanes(FloatTag()));
  }
};

// kStep elements from `from`, of which the first `count` are real; the rest is `fill`.
template <class From>
HWY_INLINE void LoadTail(const typename From::Element* from, size_t count,
                         typename From::Element fill, FloatVector& a, FloatVector& b) {
  typename From::Element padded[From::kStep];
  for (size_t i = 0; i < From::kStep; i++) padded[i] = i < count ? from[i] : fill;
  From::Load(padded, a, b);
}

template <class From>
void AddFloats(const typename From::Element* data, size_t count, FloatMoments* totals) {
  Accumulator all;
  size_t i = 0;
  FloatVector a = hn::Zero(FloatTag());
  FloatVector b = hn::Zero(FloatTag());
  while (i + From::kStep <= count) {
    Stream first;
    Stream second;
    const size_t full = (count - i) / From::kStep;
    const size_t steps = full < kRun ? full : kRun;
    for (size_t step = 0; step < steps; step++, i += From::kStep) {
      __builtin_prefetch(reinterpret_cast<const char*>(data + i) + kAhead);
      From::Load(data + i, a, b);
      first.Add(a);
      second.Add(b);
      all.Extend(a, b);
    }
    all.Transfer(first, second);
  }
  if (i < count) {
    // Zeros for the sums, copies of an element for the extremes.
    Stream first;
    Stream second;
    LoadTail<From>(data + i, count - i, 0, a, b);
    first.Add(a);
    second.Add(b);
    all.Transfer(first, second);
    LoadTail<From>(data + i, count - i, data[i], a, b);
    all.Extend(a, b);
  }
  totals->sum += hn::GetLane(hn::SumOfLanes(DoubleTag(), all.sum));
  totals->sum_of_squares += hn::GetLane(hn::SumOfLanes(DoubleTag(), all.squares));
  const float max = hn::GetLane(hn::MaxOfLanes(FloatTag(), hn::Max(all.first.max, all.second.max)));
  const float min = hn::GetLane(hn::MinOfLanes(FloatTag(), hn::Min(all.first.min, all.second.min)));
  if (max > totals->max) totals->max = max;
  if (min < totals->min) totals->min = min;
  totals->has_nan = totals->sum_of_squares != totals->sum_of_squares;
}

void AddFloat32(const float* data, size_t count, FloatMoments* totals) {
  AddFloats<FromFloat32>(data, count, totals);
}
void AddFloat16(const uint16_t* data, size_t count, FloatMoments* totals) {
  AddFloats<FromFloat16>(data, count, totals);
}
void AddBFloat16(const uint16_t* data, size_t count, FloatMoments* totals) {
  AddFloats<FromBFloat16>(data, count, totals);
}

void AddFloat64(const double* data, size_t count, DoubleExtremes* totals) {
  const DoubleTag d;
  auto max = hn::Set(d, totals->max);
  auto min = hn::Set(d, totals->min);
  auto zero_or_nan = hn::Zero(d);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, data + i);
    max = hn::Max(v, max);
    min = hn::Min(v, min);
    zero_or_nan = hn::Add(zero_or_nan, hn::IfThenElseZero(hn::IsNaN(v), v));
  }
  double high = hn::GetLane(hn::MaxOfLanes(d, max));
  double low = hn::GetLane(hn::MinOfLanes(d, min));
  bool has_nan = !hn::AllFalse(d, hn::IsNaN(zero_or_nan));
  for (; i < count; i++) {
    high = data[i] > high ? data[i] : high;
    low = data[i] < low ? data[i] : low;
    has_nan = has_nan || data[i] != data[i];
  }
  totals->max = high;
  totals->min = low;
  totals->has_nan = totals->has_nan || has_nan;
}

// The compiler makes vector code of this loop.
template <class T>
void AddIntegers(const T* data, size_t count, Extremes<T>* totals) {
  T max = totals->max;
  T min = totals->min;
  for (size_t i = 0; i < count; i++) {
    max = data[i] > max ? data[i] : max;
    min = data[i] < min ? data[i] : min;
  }
  totals->max = max;
  totals->min = min;
}

}  // namespace

constexpr MomentKernels kKernels = {
    .float32 = &AddFloat32,
    .float16 = &AddFloat16,
    .bfloat16 = &AddBFloat16,
    .float64 = &AddFloat64,
    .int8 = &AddIntegers<int8_t>,
    .uint8 = &AddIntegers<uint8_t>,
    .int16 = &AddIntegers<int16_t>,
    .uint16 = &AddIntegers<uint16_t>,
    .int32 = &AddIntegers<int32_t>,
    .uint32 = &AddIntegers<uint32_t>,
    .int64 = &AddIntegers<int64_t>,
    .uint64 = &AddIntegers<uint64_t>,
};

}  // namespace sonde::probe::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

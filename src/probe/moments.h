// Sums and extremes of arrays of numbers in one pass, one implementation per instruction set.
//
// Floating point is summed as its framework sums it: squares in single precision, so that they
// overflow and vanish where the framework's do; short runs in single, their totals in double
// precision. The order of the elements does not matter.
// Threads: pure functions. Errors: none; empty input leaves the totals as they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::probe {

// Totals over float32, float16 and bfloat16; the extremes ignore NaN.
struct FloatMoments {
  double sum = 0;
  double sum_of_squares = 0;
  float max = -__builtin_inff();
  float min = __builtin_inff();
  bool has_nan = false;
};

struct DoubleExtremes {
  double max = -__builtin_inf();
  double min = __builtin_inf();
  bool has_nan = false;
};

template <class T>
struct Extremes {
  T max;
  T min;
};

// Each function adds `count` elements to the totals.
struct MomentKernels {
  void (*float32)(const float* data, size_t count, FloatMoments* totals);
  void (*float16)(const uint16_t* bits, size_t count, FloatMoments* totals);
  void (*bfloat16)(const uint16_t* bits, size_t count, FloatMoments* totals);
  void (*float64)(const double* data, size_t count, DoubleExtremes* totals);
  void (*int8)(const int8_t* data, size_t count, Extremes<int8_t>* totals);
  void (*uint8)(const uint8_t* data, size_t count, Extremes<uint8_t>* totals);
  void (*int16)(const int16_t* data, size_t count, Extremes<int16_t>* totals);
  void (*uint16)(const uint16_t* data, size_t count, Extremes<uint16_t>* totals);
  void (*int32)(const int32_t* data, size_t count, Extremes<int32_t>* totals);
  void (*uint32)(const uint32_t* data, size_t count, Extremes<uint32_t>* totals);
  void (*int64)(const int64_t* data, size_t count, Extremes<int64_t>* totals);
  void (*uint64)(const uint64_t* data, size_t count, Extremes<uint64_t>* totals);
};

// The fastest set that this processor runs.
const MomentKernels& Moments();

// Every set that this processor runs, slowest first, for tests and benchmarks; ended by nullptr.
const MomentKernels* const* AllMoments();

}  // namespace sonde::probe

// The sum of a float32 array exactly as torch adds it on one thread: in single precision, in the
// order of its kernel. Means of terms that cancel agree to the last bit only this way.
//
// Eight lanes, four rows of them at a time; partial sums of 16 rows or more go up through four
// levels. torch uses this order on every x86 processor; where another one is used, the result is
// still a sum of equal precision. Pure, any thread.
#pragma once

#include <cstddef>

namespace sonde::probe {

// torch spreads larger arrays over its threads, if it has several.
inline constexpr size_t kMaxCascadeCount = 32768;

float CascadeSum(const float* data, size_t count);

}  // namespace sonde::probe

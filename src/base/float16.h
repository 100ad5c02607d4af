// The two 16-bit floating-point formats of tensors, as bit patterns and converted to and from
// float.
//
// IEEE half (1 sign, 5 exponent, 10 mantissa bits) and bfloat16 (1, 8, 7). Narrowing rounds to the
// nearest, ties to even; NaN stays NaN. Pure, any thread. For single values; the probe has kernels
// for arrays.
#pragma once

#include <bit>
#include <cstdint>

namespace sonde::base {

constexpr float BFloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U);
}

constexpr uint16_t FloatToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return static_cast<uint16_t>((bits >> 16U) | 0x40U);  // quiet NaN, payload kept
  }
  const uint32_t round = 0x7fffU + ((bits >> 16U) & 1U);
  return static_cast<uint16_t>((bits + round) >> 16U);
}

constexpr float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16U;
  const uint32_t exponent = (half >> 10U) & 0x1fU;
  const uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13U));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
  }
  // Zero and subnormals: mantissa * 2^-24, exact in float.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

constexpr uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16U) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return static_cast<uint16_t>(sign | 0x7e00U | ((magnitude >> 13U) & 0x3ffU));
  }
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // >= 65520: infinite
  if (magnitude >= 0x38800000U) {                                              // normal: >= 2^-14
    const uint32_t rebased = magnitude - (112U << 23U);
    const uint32_t round = 0xfffU + ((rebased >> 13U) & 1U);
    return static_cast<uint16_t>(sign | ((rebased + round) >> 13U));
  }
  // Subnormal: adding 0.5 puts the result's last bit at the float's last bit and rounds to even.
  const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
  return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000U));
}

}  // namespace sonde::base

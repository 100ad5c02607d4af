// Bits of numbers. Pure, any thread.
#pragma once

#include <cstdint>

namespace sonde::base {

// Number of bits set. Where the processor may lack an instruction for it, std::popcount is a call.
constexpr int CountBits(uint64_t bits) {
  bits -= (bits >> 1U) & 0x5555555555555555U;
  bits = (bits & 0x3333333333333333U) + ((bits >> 2U) & 0x3333333333333333U);
  bits = (bits + (bits >> 4U)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<int>((bits * 0x0101010101010101U) >> 56U);
}

}  // namespace sonde::base

// 64-bit hashes for tables in memory: strings, integers, combinations.
//
// Built on one step, the two halves of a 64 x 64 bit product xored together. Not for files: values
// may change between versions (files use CRC-32C). Not safe against attackers. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace sonde::base {

namespace internal {
// Odd, half of the bits set, no simple relation between them (from the digits of sqrt 2, 3, 5).
inline constexpr uint64_t kHashA = 0x6a09e667f3bcc909ULL;
inline constexpr uint64_t kHashB = 0xbb67ae8584caa73bULL;
inline constexpr uint64_t kHashC = 0x3c6ef372fe94f82bULL;

constexpr uint64_t HashMix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64U);
}
}  // namespace internal

constexpr uint64_t HashInt(uint64_t value) {
  return internal::HashMix(value ^ internal::kHashA, internal::kHashB);
}

// Order matters: HashCombine(a, b) != HashCombine(b, a).
constexpr uint64_t HashCombine(uint64_t seed, uint64_t hash) {
  return internal::HashMix(seed ^ internal::kHashC, hash ^ internal::kHashB);
}

inline uint64_t HashBytes(const void* data, size_t size, uint64_t seed = 0) {
  const auto* p = static_cast<const uint8_t*>(data);
  uint64_t state = internal::HashMix(seed ^ internal::kHashA, size ^ internal::kHashB);
  size_t left = size;
  for (; left > 16; p += 16, left -= 16) {
    state =
        internal::HashMix(LoadLe<uint64_t>(p) ^ internal::kHashC, LoadLe<uint64_t>(p + 8) ^ state);
  }
  uint64_t low = 0;
  uint64_t high = 0;
  if (left >= 8) {
    low = LoadLe<uint64_t>(p);
    high = LoadLe<uint64_t>(p + left - 8);
  } else if (left >= 4) {
    low = LoadLe<uint32_t>(p);
    high = LoadLe<uint32_t>(p + left - 4);
  } else if (left > 0) {
    low = (uint64_t{p[0]} << 16U) | (uint64_t{p[left / 2]} << 8U) | p[left - 1];
  }
  state = internal::HashMix(low ^ internal::kHashB, high ^ state);
  return internal::HashMix(state ^ internal::kHashA, internal::kHashC);
}

inline uint64_t HashString(std::string_view text, uint64_t seed = 0) {
  return HashBytes(text.data(), text.size(), seed);
}

// For std::unordered_map<std::string, V, StringHash, std::equal_to<>>: lookup by string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return HashString(text); }
};

}  // namespace sonde::base

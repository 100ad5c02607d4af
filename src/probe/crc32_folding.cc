// Four registers of 16 bytes take in 64 bytes at a time: each is multiplied by the power of x that
// moves it 64 bytes on, modulo the polynomial, and added to the next 16 bytes. What remains is
// folded to 16 bytes, to 8, and reduced by Barrett's method. The constants are those powers, bits
// reflected, as Intel's paper on the method derives them for this polynomial.
#include "probe/crc32_folding.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace sonde::probe {
namespace {

struct FoldConstants {
  uint64_t low;
  uint64_t high;
};
constexpr FoldConstants kBy64Bytes = {.low = 0x154442bd4, .high = 0x1c6e41596};
constexpr FoldConstants kBy16Bytes = {.low = 0x1751997d0, .high = 0x0ccaa009e};
constexpr uint64_t kBy8Bytes = 0x163cd6124;
constexpr uint64_t kPolynomial = 0x1db710641;
constexpr uint64_t kQuotient = 0x1f7011641;

__m128i Load(const __m128i* from) { return _mm_loadu_si128(from); }

__m128i Constants(FoldConstants pair) {
  return _mm_set_epi64x(static_cast<int64_t>(pair.high), static_cast<int64_t>(pair.low));
}

__m128i Fold(__m128i value, __m128i constants, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(value, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(value, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

uint32_t Reduce(__m128i value) {
  const __m128i low_half = _mm_set_epi64x(0, 0xffffffff);
  const __m128i by16 = Constants(kBy16Bytes);
  value = _mm_xor_si128(_mm_clmulepi64_si128(value, by16, 0x10), _mm_srli_si128(value, 8));
  const __m128i by8 = _mm_set_epi64x(0, static_cast<int64_t>(kBy8Bytes));
  value = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(value, low_half), by8, 0x00),
                        _mm_srli_si128(value, 4));
  const __m128i barrett = Constants({.low = kPolynomial, .high = kQuotient});
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(value, low_half), barrett, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_half), barrett, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(value, quotient), 1));
}

}  // namespace

uint32_t FoldCrc32(uint32_t state, const void* data, size_t size) {
  const auto* from = static_cast<const __m128i*>(data);
  __m128i a = _mm_xor_si128(Load(from), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i b = Load(from + 1);
  __m128i c = Load(from + 2);
  __m128i d = Load(from + 3);
  from += 4;
  size -= 64;
  const __m128i by64 = Constants(kBy64Bytes);
  for (; size >= 64; size -= 64, from += 4) {
    a = Fold(a, by64, Load(from));
    b = Fold(b, by64, Load(from + 1));
    c = Fold(c, by64, Load(from + 2));
    d = Fold(d, by64, Load(from + 3));
  }
  const __m128i by16 = Constants(kBy16Bytes);
  a = Fold(Fold(Fold(a, by16, b), by16, c), by16, d);
  for (; size >= 16; size -= 16, from++) a = Fold(a, by16, Load(from));
  return Reduce(a);
}

}  // namespace sonde::probe
#endif

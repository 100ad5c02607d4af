#include "base/crc32c.h"

#include <array>

#include "base/bytes.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace sonde::base {
namespace {

using Table = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: the effect of byte b followed by k zero bytes.
constexpr Table MakeTables() {
  Table tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t previous = tables[k - 1][i];
      tables[k][i] = (previous >> 8U) ^ tables[0][previous & 0xffU];
    }
  }
  return tables;
}

constexpr Table kTables = MakeTables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cHardware(const uint8_t* data, size_t size,
                                                          uint32_t crc) {
  uint64_t state = ~crc;
  for (; size >= 8; data += 8, size -= 8) state = _mm_crc32_u64(state, LoadLe<uint64_t>(data));
  auto narrow = static_cast<uint32_t>(state);
  for (; size > 0; ++data, --size) narrow = _mm_crc32_u8(narrow, *data);
  return ~narrow;
}
bool HasCrcInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#elif defined(__aarch64__)
__attribute__((target("+crc"))) uint32_t Crc32cHardware(const uint8_t* data, size_t size,
                                                        uint32_t crc) {
  uint32_t state = ~crc;
  for (; size >= 8; data += 8, size -= 8) state = __crc32cd(state, LoadLe<uint64_t>(data));
  for (; size > 0; ++data, --size) state = __crc32cb(state, *data);
  return ~state;
}
bool HasCrcInstruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#else
uint32_t Crc32cHardware(const uint8_t* data, size_t size, uint32_t crc) {
  return Crc32cPortable(data, size, crc);
}
bool HasCrcInstruction() { return false; }
#endif

}  // namespace

uint32_t Crc32cPortable(const void* data, size_t size, uint32_t crc) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t state = ~crc;
  for (; size >= 8; bytes += 8, size -= 8) {
    const uint64_t word = LoadLe<uint64_t>(bytes) ^ state;
    state = 0;
    for (size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xffU];
  }
  for (; size > 0; ++bytes, --size) state = (state >> 8U) ^ kTables[0][(state ^ *bytes) & 0xffU];
  return ~state;
}

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
  static const bool has_instruction = HasCrcInstruction();
  if (has_instruction) return Crc32cHardware(static_cast<const uint8_t*>(data), size, crc);
  return Crc32cPortable(data, size, crc);
}

}  // namespace sonde::base

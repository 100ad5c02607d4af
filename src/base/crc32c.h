// CRC-32C (Castagnoli, reflected 0x82f63b78), the checksum of our file formats.
//
// Uses the CPU's instruction where there is one, else tables. Pure, any thread.
// Crc32c("123456789") == 0xe3069283.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sonde::base {

// `crc` is the checksum of the bytes before: Crc32c(b, nb, Crc32c(a, na)) is that of a and b.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

inline uint32_t Crc32c(std::string_view text, uint32_t crc = 0) {
  return Crc32c(text.data(), text.size(), crc);
}

// The table version, which every machine can run; for tests of the fast one.
uint32_t Crc32cPortable(const void* data, size_t size, uint32_t crc = 0);

}  // namespace sonde::base

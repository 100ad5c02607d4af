// Checksums over the elements of a tensor, in row-major order and in their own type.
//
// CRC-32 is the one of zlib and IEEE 802.3 (polynomial 0x04c11db7 reflected, all ones before and
// after). Threads: pure functions. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "probe/tensor_view.h"

namespace sonde::probe {

// Continues `crc` (0 to begin with) over more bytes.
uint32_t Crc32(uint32_t crc, const void* data, size_t size);

// The same without the instructions that not every processor has; for tests.
uint32_t Crc32Portable(uint32_t crc, const void* data, size_t size);

// "00000000" for an empty tensor.
std::string Crc32Text(const TensorView& view);

// All bytes as 64-bit words, the last one filled with zeros, combined by exclusive or: "0x" and 16
// digits.
uint64_t XorWords(const TensorView& view);
std::string HexWord(uint64_t word);

}  // namespace sonde::probe

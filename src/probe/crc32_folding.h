// CRC-32 by carry-less multiplication, for processors that have it (SSE4.1 and PCLMULQDQ).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::probe {

#if defined(__x86_64__)
// `size` is a multiple of 16 and at least 64; `state` is the inverted CRC, as the result is.
uint32_t FoldCrc32(uint32_t state, const void* data, size_t size);
#endif

}  // namespace sonde::probe

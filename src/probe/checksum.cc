#include "probe/checksum.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "base/bytes.h"
#include "probe/crc32_folding.h"

namespace sonde::probe {
namespace {

constexpr uint32_t kReflectedPolynomial = 0xedb88320U;
constexpr size_t kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// Table k: the effect of a byte that is followed by k more.
constexpr Tables MakeTables() {
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t state = byte;
    for (int bit = 0; bit < 8; bit++) {
      state = (state & 1U) != 0 ? (state >> 1U) ^ kReflectedPolynomial : state >> 1U;
    }
    tables[0][byte] = state;
  }
  for (size_t k = 1; k < kSlices; k++) {
    for (size_t byte = 0; byte < 256; byte++) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xffU];
    }
  }
  return tables;
}
constexpr Tables kTables = MakeTables();

uint32_t AdvanceState(uint32_t state, const std::byte* data, size_t size) {
  for (; size >= kSlices; size -= kSlices, data += kSlices) {
    const uint64_t word = base::LoadLe<uint64_t>(data) ^ state;
    state = 0;
    for (size_t i = 0; i < kSlices; i++) state ^= kTables[7 - i][(word >> (8 * i)) & 0xffU];
  }
  for (; size > 0; size--, data++) {
    state = (state >> 8U) ^ kTables[0][(state ^ std::to_integer<uint32_t>(*data)) & 0xffU];
  }
  return state;
}

#if defined(__x86_64__)
bool HasFolding() {
  static const bool has =
      __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  return has;
}
#endif

class Crc32Visitor : public PieceVisitor {
 public:
  explicit Crc32Visitor(size_t element_bytes) : element_bytes_(element_bytes) {}
  void Visit(const void* data, size_t count) override {
    crc = Crc32(crc, data, count * element_bytes_);
  }
  uint32_t crc = 0;

 private:
  size_t element_bytes_;
};

// Pieces end between elements, which may be shorter than a word.
class XorVisitor : public PieceVisitor {
 public:
  explicit XorVisitor(size_t element_bytes) : element_bytes_(element_bytes) {}
  void Visit(const void* data, size_t count) override {
    const auto* bytes = static_cast<const std::byte*>(data);
    size_t size = count * element_bytes_;
    for (; size > 0 && position_ % sizeof(uint64_t) != 0; size--, bytes++) AddByte(*bytes);
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
      word ^= base::LoadLe<uint64_t>(bytes);
    }
    for (; size > 0; size--, bytes++) AddByte(*bytes);
  }
  uint64_t word = 0;

 private:
  void AddByte(std::byte byte) {
    word ^= std::to_integer<uint64_t>(byte) << (8 * (position_ % sizeof(uint64_t)));
    position_++;
  }
  size_t element_bytes_;
  size_t position_ = 0;
};

}  // namespace

uint32_t Crc32Portable(uint32_t crc, const void* data, size_t size) {
  return ~AdvanceState(~crc, static_cast<const std::byte*>(data), size);
}

uint32_t Crc32(uint32_t crc, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  uint32_t state = ~crc;
#if defined(__x86_64__)
  if (size >= 64 && HasFolding()) {
    const size_t folded = size & ~size_t{15};
    state = FoldCrc32(state, bytes, folded);
    bytes += folded;
    size -= folded;
  }
#endif
  return ~AdvanceState(state, bytes, size);
}

std::string Crc32Text(const TensorView& view) {
  Crc32Visitor visitor(view.element_bytes);
  VisitInOrder(view, visitor);
  std::array<char, 9> text = {};
  std::snprintf(text.data(), text.size(), "%08x", visitor.crc);
  return text.data();
}

uint64_t XorWords(const TensorView& view) {
  XorVisitor visitor(view.element_bytes);
  VisitInOrder(view, visitor);
  return visitor.word;
}

std::string HexWord(uint64_t word) {
  std::array<char, 19> text = {};
  std::snprintf(text.data(), text.size(), "0x%016llx", static_cast<unsigned long long>(word));
  return text.data();
}

}  // namespace sonde::probe

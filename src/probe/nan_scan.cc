#include "probe/nan_scan.h"

#include <cstring>
#include <limits>

namespace sonde::probe {
namespace {

// Elements between two checks of the result: loops without exits become vector code.
constexpr size_t kBlock = 4096;

// NaN has all bits of the exponent and some below: without its sign it is above infinity. Signed
// words, since not every instruction set compares others.
template <class Word>
bool BlockHasNan(const std::byte* data, size_t count, Word infinity) {
  Word found = 0;
  for (size_t i = 0; i < count; i++) {
    Word word;
    std::memcpy(&word, data + i * sizeof(Word), sizeof(Word));
    const auto magnitude = static_cast<Word>(word & std::numeric_limits<Word>::max());
    found = static_cast<Word>(found | static_cast<Word>(magnitude > infinity ? 1 : 0));
  }
  return found != 0;
}

template <class Word>
class NanVisitor : public PieceVisitor {
 public:
  NanVisitor(Word infinity, size_t parts) : infinity_(infinity), parts_(parts) {}
  void Visit(const void* data, size_t count) override {
    const auto* bytes = static_cast<const std::byte*>(data);
    const size_t words = count * parts_;
    for (size_t i = 0; i < words && !found_; i += kBlock) {
      const size_t block = words - i < kBlock ? words - i : kBlock;
      found_ = BlockHasNan(bytes + i * sizeof(Word), block, infinity_);
    }
  }
  bool found() const { return found_; }

 private:
  Word infinity_;
  size_t parts_;  // numbers in an element: two in a complex one
  bool found_ = false;
};

template <class Word>
bool Scan(const TensorView& view, Word infinity, size_t parts) {
  NanVisitor<Word> visitor(infinity, parts);
  VisitUnordered(view, visitor);
  return visitor.found();
}

}  // namespace

bool HasNan(const TensorView& view) {
  if (view.data == nullptr || view.Count() == 0) return false;
  constexpr int32_t kSingle = 0x7f800000;
  constexpr int64_t kDouble = 0x7ff0000000000000;
  constexpr int16_t kHalf = 0x7c00;
  constexpr int16_t kBrain = 0x7f80;
  switch (view.type) {
    case ElementType::kFloat32:
      return Scan(view, kSingle, 1);
    case ElementType::kComplex64:
      return Scan(view, kSingle, 2);
    case ElementType::kFloat64:
      return Scan(view, kDouble, 1);
    case ElementType::kComplex128:
      return Scan(view, kDouble, 2);
    case ElementType::kFloat16:
      return Scan(view, kHalf, 1);
    case ElementType::kBFloat16:
      return Scan(view, kBrain, 1);
    default:
      return false;
  }
}

}  // namespace sonde::probe

// A tensor in host memory as the probe reads it: address, element type, shape and strides.
//
// The view owns nothing: data, shape and strides must outlive it. Sizes and strides in elements.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sonde::probe {

enum class ElementType : uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kFloat8,  // every format of one byte
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kBool,
  kComplex64,
  kComplex128,
  kOther,  // nothing is computed
};

struct TensorView {
  const void* data = nullptr;
  ElementType type = ElementType::kOther;
  size_t element_bytes = 0;
  std::span<const int64_t> shape = {};
  std::span<const int64_t> strides = {};

  size_t Count() const;
  // Row-major without gaps.
  bool IsContiguous() const;
  // The elements fill one piece of memory, each once, in whatever order, from `data` on.
  bool IsDense() const;
};

// Called with pieces of a tensor, in row-major order; a piece ends anywhere between two elements.
class PieceVisitor {
 public:
  virtual ~PieceVisitor() = default;
  virtual void Visit(const void* data, size_t count) = 0;
};

// Visits every element once; none of a tensor without memory. Elements with gaps between them are
// first copied into a buffer of a few pages.
void VisitInOrder(const TensorView& view, PieceVisitor& visitor);

// The same in the cheapest order.
void VisitUnordered(const TensorView& view, PieceVisitor& visitor);

}  // namespace sonde::probe

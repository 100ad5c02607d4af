// A tensor whose memory was found: its elements, their type and address.
//
// Threads: a value, used while the tensor lives.
#ifndef SONDE_ADAPT_PROBE_READ_TENSOR_H_
#define SONDE_ADAPT_PROBE_READ_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "probe/tensor_view.h"

namespace sonde::adapt {

inline constexpr size_t kMaxDims = 32;

struct DtypeInfo {
  std::string name;  // "bfloat16"
  probe::ElementType type = probe::ElementType::kOther;
  size_t element_bytes = 0;
};

// A tensor that was read: `view` refers to the arrays and to the tensor's memory.
struct ReadTensor {
  ReadTensor() = default;
  ReadTensor(const ReadTensor&) = delete;
  ReadTensor& operator=(const ReadTensor&) = delete;

  probe::TensorView view;
  const DtypeInfo* dtype = nullptr;
  bool requires_grad = false;
  std::array<int64_t, kMaxDims> shape;
  std::array<int64_t, kMaxDims> strides;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_READ_TENSOR_H_

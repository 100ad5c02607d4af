// Copies a tensor's elements side by side, in the order in which they are shown.
//
// The target is the caller's and holds them all. Threads: one.
#pragma once

#include <cstddef>
#include <cstring>

#include "probe/tensor_view.h"

namespace sonde::probe {

class CopyVisitor : public PieceVisitor {
 public:
  CopyVisitor(std::byte* to, size_t element_bytes) : to_(to), element_bytes_(element_bytes) {}
  void Visit(const void* data, size_t count) override {
    std::memcpy(to_, data, count * element_bytes_);
    to_ += count * element_bytes_;
  }

 private:
  std::byte* to_;
  size_t element_bytes_;
};

}  // namespace sonde::probe

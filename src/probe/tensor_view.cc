#include "probe/tensor_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace sonde::probe {
namespace {

constexpr size_t kBufferBytes = 16384;
constexpr size_t kMaxElementBytes = 16;

template <size_t kBytes>
void Gather(const std::byte* from, int64_t stride_bytes, size_t count, std::byte* to) {
  for (size_t i = 0; i < count; i++, from += stride_bytes, to += kBytes) {
    std::memcpy(to, from, kBytes);
  }
}

void GatherElements(const std::byte* from, int64_t stride_bytes, size_t count, size_t bytes,
                    std::byte* to) {
  switch (bytes) {
    case 1:
      return Gather<1>(from, stride_bytes, count, to);
    case 2:
      return Gather<2>(from, stride_bytes, count, to);
    case 4:
      return Gather<4>(from, stride_bytes, count, to);
    case 8:
      return Gather<8>(from, stride_bytes, count, to);
    default:
      return Gather<kMaxElementBytes>(from, stride_bytes, count, to);
  }
}

// Walks the rows (innermost dimension) of a view and passes their elements to a visitor.
class RowWalk {
 public:
  RowWalk(const TensorView& view, PieceVisitor& visitor)
      : view_(view), visitor_(visitor), index_(view.shape.size(), 0) {}

  void Run() {
    const size_t last = view_.shape.size() - 1;
    const auto row_count = static_cast<size_t>(view_.shape[last]);
    const int64_t bytes = static_cast<int64_t>(view_.element_bytes);
    const int64_t step = view_.strides[last] * bytes;
    do {
      const auto* row = static_cast<const std::byte*>(view_.data) + offset_ * bytes;
      if (step == bytes && row_count * view_.element_bytes >= kBufferBytes) {
        Flush();
        visitor_.Visit(row, row_count);
      } else {
        AddRow(row, step, row_count);
      }
    } while (NextRow());
    Flush();
  }

 private:
  void AddRow(const std::byte* row, int64_t step, size_t count) {
    const size_t capacity = kBufferBytes / view_.element_bytes;
    while (count > 0) {
      const size_t some = std::min(count, capacity - filled_);
      std::byte* to = buffer_.data() + filled_ * view_.element_bytes;
      GatherElements(row, step, some, view_.element_bytes, to);
      filled_ += some;
      count -= some;
      row += static_cast<int64_t>(some) * step;
      if (filled_ == capacity) Flush();
    }
  }
  void Flush() {
    if (filled_ > 0) visitor_.Visit(buffer_.data(), filled_);
    filled_ = 0;
  }
  bool NextRow() {
    for (size_t dim = view_.shape.size() - 1; dim-- > 0;) {
      offset_ += view_.strides[dim];
      if (++index_[dim] < view_.shape[dim]) return true;
      offset_ -= view_.strides[dim] * view_.shape[dim];
      index_[dim] = 0;
    }
    return false;
  }

  const TensorView& view_;
  PieceVisitor& visitor_;
  std::vector<int64_t> index_;
  int64_t offset_ = 0;
  size_t filled_ = 0;
  alignas(64) std::array<std::byte, kBufferBytes> buffer_;
};

}  // namespace

size_t TensorView::Count() const {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(std::max<int64_t>(size, 0));
  return count;
}

bool TensorView::IsContiguous() const {
  int64_t expected = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 1) continue;
    if (strides[dim] != expected) return false;
    expected *= shape[dim];
  }
  return true;
}

bool TensorView::IsDense() const {
  std::vector<size_t> dims;
  for (size_t dim = 0; dim < shape.size(); dim++) {
    if (shape[dim] != 1) dims.push_back(dim);
  }
  std::sort(dims.begin(), dims.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (const size_t dim : dims) {
    if (strides[dim] != expected) return false;
    expected *= shape[dim];
  }
  return true;
}

void VisitInOrder(const TensorView& view, PieceVisitor& visitor) {
  const size_t count = view.Count();
  if (count == 0 || view.data == nullptr) return;
  if (view.IsContiguous()) {
    visitor.Visit(view.data, count);
  } else {
    RowWalk(view, visitor).Run();
  }
}

void VisitUnordered(const TensorView& view, PieceVisitor& visitor) {
  const size_t count = view.Count();
  if (count == 0 || view.data == nullptr) return;
  if (view.IsContiguous() || view.IsDense()) {
    visitor.Visit(view.data, count);
  } else {
    RowWalk(view, visitor).Run();
  }
}

}  // namespace sonde::probe

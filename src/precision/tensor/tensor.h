// One tensor of a file: element type, shape, strides, and the mapped bytes behind them.
//
// Bounds are checked when the tensor is made: every index inside the shape lies in the storage.
// The file stays mapped with the object. Threads: read-only, may be shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "precision/tensor/dtype.h"

namespace sonde::precision {

class Tensor {
 public:
  // `strides` in elements, not negative; `offset` of the first element in elements. Fails when an
  // element would lie outside `storage`.
  static Result<Tensor> Make(Dtype dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                             int64_t offset, std::span<const std::byte> storage);
  // Strides of a packed tensor, last axis fastest.
  static std::vector<int64_t> PackedStrides(const std::vector<int64_t>& shape);
  // Packed tensors that own their values.
  static Tensor OfDoubles(std::vector<int64_t> shape, std::vector<double> values);
  static Tensor OfFloats(std::vector<int64_t> shape, std::vector<float> values);

  Dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t element_count() const { return element_count_; }
  // The shape without axes of length 1.
  std::vector<int64_t> SqueezedShape() const;

  // Elements [begin, begin + count) in row-major order; complex ones as two numbers each.
  void ReadFloats(int64_t begin, size_t count, float* out) const;
  void ReadDoubles(int64_t begin, size_t count, double* out) const;

  // Gives the memory behind elements [begin, end) of a packed tensor of a file back to the system;
  // it is read again when touched. Others stay as they are.
  void Release(int64_t begin, int64_t end) const;

  // A copy whose rows (first axis) from `rows` on are zero; the tensor itself when it has no more.
  Tensor WithZerosFrom(int64_t rows) const;

  // The first (0) or last (1) half of its rows, in place. Fails when these are odd in number.
  Result<Tensor> Half(int64_t which) const;
  // Type, shape and every bit of every element are equal.
  bool SameBytes(const Tensor& other) const;

  // The tensors one behind the other along `axis`, after axes of length 1 are taken out of each.
  // Fails when their types or other axes differ.
  static Result<Tensor> Concatenate(const std::vector<Tensor>& parts, size_t axis);

  // Keeps the file alive as long as the tensor.
  void HoldFile(std::shared_ptr<base::MappedFile> file) { file_ = std::move(file); }
  // The same for a tensor whose storage is no file's.
  void HoldBytes(std::shared_ptr<const std::vector<std::byte>> bytes) { owned_ = std::move(bytes); }

 private:
  template <class T>
  static Tensor Owning(Dtype dtype, std::vector<int64_t> shape, std::vector<T> values);
  // All elements, packed.
  std::vector<std::byte> Bytes() const;
  template <class Out, class Convert>
  void Read(int64_t begin, size_t count, Out* out, Convert convert) const;

  Dtype dtype_ = Dtype::kFloat32;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  int64_t element_count_ = 0;
  const std::byte* first_ = nullptr;
  bool packed_ = false;
  std::shared_ptr<base::MappedFile> file_;
  std::shared_ptr<const void> owned_;
};

}  // namespace sonde::precision

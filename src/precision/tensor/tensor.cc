#include "precision/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/count_of.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

// More than any memory holds; what reads a tensor in pieces counts on it.
constexpr int64_t kMaxElements = int64_t{1} << 40U;

}  // namespace

std::vector<int64_t> Tensor::PackedStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    // Make() refuses what has so many elements.
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[i], 1), &step)) step = INT64_MAX;
  }
  return strides;
}

Result<Tensor> Tensor::Make(Dtype dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                            int64_t offset, std::span<const std::byte> storage) {
  if (shape.size() != strides.size() || offset < 0) {
    return base::CorruptDataError("shape, strides and offset of the tensor do not fit together");
  }
  const auto size = static_cast<int64_t>(DtypeSize(dtype));
  const auto capacity = static_cast<int64_t>(storage.size()) / size;
  int64_t count = 1;
  int64_t last = offset;
  bool overflow = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || strides[i] < 0) {
      return base::CorruptDataError("negative length or stride of the tensor");
    }
    overflow = overflow || __builtin_mul_overflow(count, shape[i], &count);
    int64_t reach = 0;
    if (shape[i] > 0) {
      overflow = overflow || __builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
                 __builtin_add_overflow(last, reach, &last);
    }
  }
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (!empty && (overflow || last >= capacity)) {
    return base::CorruptDataError(base::Concat("the tensor reaches beyond its storage of ",
                                               std::to_string(storage.size()), " bytes"));
  }
  if (!empty && count > kMaxElements) {  // of an axis that repeats one element
    return base::CorruptDataError(base::Concat("a tensor of ", base::CountOf(count, "element")));
  }
  Tensor out;
  out.dtype_ = dtype;
  out.element_count_ = empty ? 0 : count;
  out.first_ = empty ? storage.data() : storage.data() + offset * size;
  out.packed_ = true;
  if (!empty) {
    const std::vector<int64_t> packed = PackedStrides(shape);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] > 1 && strides[i] != packed[i]) out.packed_ = false;
    }
  }
  out.shape_ = std::move(shape);
  out.strides_ = std::move(strides);
  return out;
}

template <class T>
Tensor Tensor::Owning(Dtype dtype, std::vector<int64_t> shape, std::vector<T> values) {
  auto owned = std::make_shared<const std::vector<T>>(std::move(values));
  Tensor out;
  out.dtype_ = dtype;
  out.strides_ = PackedStrides(shape);
  out.shape_ = std::move(shape);
  out.element_count_ = static_cast<int64_t>(owned->size());
  out.first_ = reinterpret_cast<const std::byte*>(owned->data());
  out.packed_ = true;
  out.owned_ = std::move(owned);
  return out;
}

Tensor Tensor::OfDoubles(std::vector<int64_t> shape, std::vector<double> values) {
  return Owning(Dtype::kFloat64, std::move(shape), std::move(values));
}

Tensor Tensor::OfFloats(std::vector<int64_t> shape, std::vector<float> values) {
  return Owning(Dtype::kFloat32, std::move(shape), std::move(values));
}

std::vector<int64_t> Tensor::SqueezedShape() const {
  std::vector<int64_t> out;
  std::copy_if(shape_.begin(), shape_.end(), std::back_inserter(out),
               [](int64_t length) { return length != 1; });
  return out;
}

template <class Out, class Convert>
void Tensor::Read(int64_t begin, size_t count, Out* out, Convert convert) const {
  const size_t size = DtypeSize(dtype_);
  if (packed_) {
    convert(first_ + static_cast<size_t>(begin) * size, count, out);
    return;
  }
  const size_t per_element = IsComplex(dtype_) ? 2 : 1;
  std::vector<int64_t> index(shape_.size());
  int64_t rest = begin;
  int64_t at = 0;
  for (size_t i = shape_.size(); i-- > 0;) {
    index[i] = rest % shape_[i];
    rest /= shape_[i];
    at += index[i] * strides_[i];
  }
  for (size_t done = 0; done < count; ++done) {
    convert(first_ + static_cast<size_t>(at) * size, 1, out + done * per_element);
    for (size_t i = shape_.size(); i-- > 0;) {
      at += strides_[i];
      if (++index[i] < shape_[i]) break;
      at -= strides_[i] * shape_[i];
      index[i] = 0;
    }
  }
}

std::vector<std::byte> Tensor::Bytes() const {
  const size_t size = DtypeSize(dtype_);
  std::vector<std::byte> values(static_cast<size_t>(element_count_) * size);
  std::byte* cursor = values.data();
  if (element_count_ > 0) {
    // In order, so the cursor is the place; what Read() offers counts elements, not bytes.
    Read(0, static_cast<size_t>(element_count_), values.data(),
         [&cursor, size](const std::byte* in, size_t n, std::byte*) {
           std::memcpy(cursor, in, n * size);
           cursor += n * size;
         });
  }
  return values;
}

Result<Tensor> Tensor::Concatenate(const std::vector<Tensor>& parts, size_t axis) {
  std::vector<int64_t> shape = parts.front().SqueezedShape();
  if (axis >= shape.size()) {
    return base::InvalidArgumentError(base::Concat("a tensor of ", std::to_string(shape.size()),
                                                   " axes has no axis ", std::to_string(axis)));
  }
  shape[axis] = 0;
  int64_t elements = 0;
  for (const Tensor& part : parts) {
    std::vector<int64_t> other = part.SqueezedShape();
    if (other.size() == shape.size()) {
      shape[axis] += other[axis];
      other[axis] = shape[axis];
    }
    if (other != shape || part.dtype_ != parts.front().dtype_) {
      return base::InvalidArgumentError("the tensors have different types or axes");
    }
    elements += part.element_count_;
  }
  const size_t size = DtypeSize(parts.front().dtype_);
  size_t rows = 1;
  for (size_t i = 0; i < axis; ++i) rows *= static_cast<size_t>(shape[i]);
  std::vector<std::byte> values(static_cast<size_t>(elements) * size);
  const size_t row_bytes = rows == 0 ? 0 : values.size() / rows;
  size_t column = 0;
  for (const Tensor& part : parts) {
    const std::vector<std::byte> bytes = part.Bytes();
    const size_t width = rows == 0 ? 0 : bytes.size() / rows;
    for (size_t row = 0; width > 0 && row < rows; ++row) {
      std::memcpy(values.data() + row * row_bytes + column, bytes.data() + row * width, width);
    }
    column += width;
  }
  Tensor out = Owning(parts.front().dtype_, std::move(shape), std::move(values));
  out.element_count_ = elements;
  return out;
}

Tensor Tensor::WithZerosFrom(int64_t rows) const {
  if (shape_.empty() || rows >= shape_[0] || element_count_ == 0) return *this;
  const size_t size = DtypeSize(dtype_);
  const auto per_row = static_cast<size_t>(element_count_ / shape_[0]);
  const size_t kept = static_cast<size_t>(std::max<int64_t>(rows, 0)) * per_row;
  std::vector<std::byte> values = Bytes();
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(kept * size), values.end(), std::byte{0});
  Tensor out = Owning(dtype_, shape_, std::move(values));
  out.element_count_ = element_count_;
  return out;
}

Result<Tensor> Tensor::Half(int64_t which) const {
  if (shape_.empty() || shape_[0] % 2 != 0) {
    return base::InvalidArgumentError("the rows of the tensor have no halves");
  }
  Tensor out = *this;
  out.shape_[0] /= 2;
  out.element_count_ /= 2;
  const int64_t skipped = which * out.shape_[0] * strides_[0];
  out.first_ += static_cast<size_t>(skipped) * DtypeSize(dtype_);
  return out;
}

bool Tensor::SameBytes(const Tensor& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ && Bytes() == other.Bytes();
}

void Tensor::ReadFloats(int64_t begin, size_t count, float* out) const {
  Read(begin, count, out,
       [this](const std::byte* in, size_t n, float* to) { ConvertToFloat(dtype_, in, n, to); });
}

void Tensor::Release(int64_t begin, int64_t end) const {
  if (!packed_ || file_ == nullptr || owned_ != nullptr) return;
  const auto width = static_cast<int64_t>(DtypeSize(dtype_));
  file_->Forget(static_cast<size_t>(first_ + begin * width - file_->data()),
                static_cast<size_t>((end - begin) * width));
}

void Tensor::ReadDoubles(int64_t begin, size_t count, double* out) const {
  Read(begin, count, out,
       [this](const std::byte* in, size_t n, double* to) { ConvertToDouble(dtype_, in, n, to); });
}

}  // namespace sonde::precision

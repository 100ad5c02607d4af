#include "adapt/probe/tensor_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "adapt/torch/layout.h"

namespace sonde::adapt {
namespace {

// Bytes that are searched; torch's objects are larger.
constexpr size_t kObjectBytes = 48;
constexpr size_t kTensorBytes = 184;
constexpr size_t kStorageBytes = 48;
constexpr size_t kHeadBytes = 16;  // reference counts and virtual table

const char* AddressOf(uint64_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python has addresses as numbers.
  return reinterpret_cast<const char*>(number);
}

// The first place, in steps of `step` bytes, at which `agrees` holds for all samples.
template <typename Agrees>
std::optional<size_t> Find(std::span<const TensorSample> samples, size_t begin, size_t end,
                           size_t step, Agrees agrees) {
  for (size_t place = begin; place < end; place += step) {
    const auto fits = [&](const TensorSample& sample) { return agrees(sample, place); };
    if (std::ranges::all_of(samples, fits)) return place;
  }
  return std::nullopt;
}

bool HasSizes(const TensorSample& sample, size_t place) {
  const char* at = AddressOf(sample.address) + place;
  const size_t dims = sample.shape.size();
  return ReadAt<uint64_t>(at, 0) == dims &&
         std::memcmp(at + 8, sample.shape.data(), dims * 8) == 0 &&
         std::memcmp(at + 8 + kInlineSizes * 8, sample.strides.data(), dims * 8) == 0;
}

}  // namespace

void TensorMemory::Learn(std::span<const TensorSample> samples) {
  is_usable_ = false;
  const auto in_tensor = [&samples](size_t begin, auto wanted) {
    return Find(samples, begin, kTensorBytes, 8, [wanted](const TensorSample& sample, size_t at) {
      return ReadAt<uint64_t>(AddressOf(sample.address), at) == wanted(sample);
    });
  };
  const auto object = Find(samples, kHeadBytes, kObjectBytes, 8, [](const auto& s, size_t at) {
    return ReadAt<uint64_t>(s.object, at) == s.address;
  });
  const auto storage = in_tensor(kHeadBytes, [](const auto& s) { return s.storage; });
  const auto sizes = Find(samples, kHeadBytes, kTensorBytes - 88, 8, HasSizes);
  if (!object || !storage || !sizes) return;
  const auto gradients = Find(samples, *storage + 8, *sizes, 8, [](const auto& s, size_t at) {
    return (ReadAt<uint64_t>(AddressOf(s.address), at) != 0) == s.requires_grad;
  });
  const size_t behind = *sizes + 88;
  const auto offset = in_tensor(behind, [](const auto& s) { return s.storage_offset; });
  const auto keys = in_tensor(behind, [](const auto& s) { return s.keys; });
  const auto type = Find(samples, behind, kTensorBytes, 2, [](const auto& s, size_t at) {
    return ReadAt<uint16_t>(AddressOf(s.address), at) == s.type;
  });
  const auto data = Find(samples, kHeadBytes, kStorageBytes, 8, [](const auto& s, size_t at) {
    return ReadAt<uint64_t>(AddressOf(s.storage), at) == s.storage_data;
  });
  if (!gradients || !offset || !keys || !type || !data) return;
  tensor_ = *object;
  storage_ = *storage;
  sizes_ = *sizes;
  gradients_ = *gradients;
  offset_ = *offset;
  keys_ = *keys;
  type_ = *type;
  data_ = *data;
  is_usable_ = !samples.empty();
}

const char* TensorMemory::TensorOf(const PyObject* object) const {
  return ReadAt<const char*>(object, tensor_);
}

bool TensorMemory::ReadPlaces(const char* tensor, const DtypeInfo* dtype, ReadTensor* out) const {
  const auto dims = ReadAt<uint64_t>(tensor, sizes_);
  const auto* storage = ReadAt<const char*>(tensor, storage_);
  if (dims > kInlineSizes || storage == nullptr) return false;
  std::memcpy(out->shape.data(), tensor + sizes_ + 8, dims * 8);
  std::memcpy(out->strides.data(), tensor + sizes_ + 8 + kInlineSizes * 8, dims * 8);
  out->dtype = dtype;
  out->view.shape = std::span(out->shape.data(), dims);
  out->view.strides = std::span(out->strides.data(), dims);
  out->view.type = dtype->type;
  out->view.element_bytes = dtype->element_bytes;
  const auto* memory = ReadAt<const char*>(storage, data_);
  const uint64_t offset = ReadAt<uint64_t>(tensor, offset_) * dtype->element_bytes;
  out->view.data = memory == nullptr ? nullptr : memory + offset;  // it may have been given back
  return true;
}

bool TensorMemory::Read(const PyObject* object, ReadTensor* out, bool* asks_gradient) const {
  if (!is_usable_) return false;
  const char* tensor = TensorOf(object);
  if (tensor == nullptr) return false;
  const auto keys = ReadAt<uint64_t>(tensor, keys_);
  const auto type = ReadAt<uint16_t>(tensor, type_);
  for (const Kind& kind : kinds_) {
    if (kind.keys != keys || kind.type != type) continue;
    *asks_gradient = ReadAt<uint64_t>(tensor, gradients_) != 0;
    out->requires_grad = false;
    return ReadPlaces(tensor, kind.dtype, out);
  }
  return false;
}

void TensorMemory::Note(const PyObject* object, const ReadTensor& read) {
  if (!is_usable_ || read.view.shape.size() > kInlineSizes || read.view.Count() == 0) return;
  const char* tensor = TensorOf(object);
  if (tensor == nullptr) return;
  ReadTensor same;
  const bool agrees = ReadPlaces(tensor, read.dtype, &same) &&
                      std::ranges::equal(same.view.shape, read.view.shape) &&
                      std::ranges::equal(same.view.strides, read.view.strides) &&
                      same.view.data == read.view.data &&
                      (ReadAt<uint64_t>(tensor, gradients_) != 0 || !read.requires_grad);
  if (!agrees) {
    is_usable_ = false;
    return;
  }
  const auto keys = ReadAt<uint64_t>(tensor, keys_);
  const auto type = ReadAt<uint16_t>(tensor, type_);
  const auto is_same = [&](const Kind& kind) { return kind.keys == keys && kind.type == type; };
  if (!std::ranges::any_of(kinds_, is_same)) kinds_.push_back({keys, type, read.dtype});
}

}  // namespace sonde::adapt

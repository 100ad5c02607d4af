#include "adapt/probe/tensor_reader.h"

#include <algorithm>
#include <span>

namespace sonde::adapt {

TensorReader::TensorReader(const PythonCalls& calls,
                           std::unordered_map<PyObject*, DtypeInfo> dtypes,
                           std::vector<PyObject*> plain_types)
    : calls_(calls),
      dtypes_(std::move(dtypes)),
      plain_types_(std::move(plain_types)),
      name_dtype_(calls.intern("dtype")),
      name_shape_(calls.intern("shape")),
      name_is_cpu_(calls.intern("is_cpu")),
      name_requires_grad_(calls.intern("requires_grad")),
      name_data_ptr_(calls.intern("data_ptr")),
      name_stride_(calls.intern("stride")),
      name_untyped_storage_(calls.intern("untyped_storage")),
      name_is_neg_(calls.intern("is_neg")),
      name_is_conj_(calls.intern("is_conj")) {}

bool TensorReader::IsPlainTensor(const PyObject* object) const {
  return std::find(plain_types_.begin(), plain_types_.end(), object->type) != plain_types_.end();
}

bool TensorReader::Sizes(PyObject* tuple, std::array<int64_t, kMaxDims>& out, size_t* count) const {
  const intptr_t size = calls_.tuple_size(tuple);
  if (size < 0 || size > static_cast<intptr_t>(kMaxDims)) return false;
  for (intptr_t i = 0; i < size; i++) {
    PyObject* item = calls_.tuple_get(tuple, i);
    if (item->type != calls_.int_type) return false;
    out[static_cast<size_t>(i)] = calls_.long_as_i64(item);
  }
  *count = static_cast<size_t>(size);
  return true;
}

bool TensorReader::Flag(PyObject* tensor, PyObject* name, bool* value) const {
  const PyOwned result(calls_, calls_.get_attribute_object(tensor, name));
  if (!result) return false;
  *value = result.get() == calls_.true_object;
  return true;
}

// Torch gives no address for an empty part of a tensor: the address of the whole is used. For a
// part whose memory was released (sharded parameters) it gives an invalid address.
bool TensorReader::ReadStorage(PyObject* tensor, ReadTensor* out) const {
  const PyOwned storage(calls_, calls_.call_method(tensor, name_untyped_storage_, nullptr));
  if (!storage) return false;
  const PyOwned address(calls_, calls_.call_method(storage.get(), name_data_ptr_, nullptr));
  if (!address) return false;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python has addresses as numbers.
  const auto* memory = reinterpret_cast<const void*>(calls_.long_as_u64(address.get()));
  if (memory == nullptr || out->view.data == nullptr) out->view.data = memory;
  return true;
}

bool TensorReader::ReadLayout(PyObject* tensor, ReadTensor* out) const {
  size_t dims = 0;
  const PyOwned shape(calls_, calls_.get_attribute_object(tensor, name_shape_));
  if (!shape || !Sizes(shape.get(), out->shape, &dims)) return false;
  out->view.shape = std::span(out->shape.data(), dims);
  const PyOwned stride(calls_, calls_.call_method(tensor, name_stride_, nullptr));
  size_t stride_count = 0;
  if (!stride || !Sizes(stride.get(), out->strides, &stride_count)) return false;
  out->view.strides = std::span(out->strides.data(), stride_count);
  if (stride_count != dims) return false;
  const PyOwned address(calls_, calls_.call_method(tensor, name_data_ptr_, nullptr));
  if (!address) return false;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python has addresses as numbers.
  out->view.data = reinterpret_cast<const void*>(calls_.long_as_u64(address.get()));
  return ReadStorage(tensor, out);
}

bool TensorReader::Read(PyObject* tensor, ReadTensor* out) {
  bool asks_gradient = false;
  if (memory_.Read(tensor, out, &asks_gradient)) {
    if (!asks_gradient || Flag(tensor, name_requires_grad_, &out->requires_grad)) return true;
    calls_.error_clear();
    return false;
  }
  const bool is_read = ReadByPython(tensor, out);
  if (calls_.error_occurred() != nullptr) calls_.error_clear();
  if (is_read) memory_.Note(tensor, *out);
  return is_read;
}

bool TensorReader::ReadByPython(PyObject* tensor, ReadTensor* out) const {
  bool is_cpu = false;
  if (!Flag(tensor, name_is_cpu_, &is_cpu) || !is_cpu) return false;
  const PyOwned dtype(calls_, calls_.get_attribute_object(tensor, name_dtype_));
  const auto known = dtypes_.find(dtype.get());
  if (known == dtypes_.end()) return false;
  out->dtype = &known->second;
  out->view.type = out->dtype->type;
  out->view.element_bytes = out->dtype->element_bytes;
  if (!ReadLayout(tensor, out) || !Flag(tensor, name_requires_grad_, &out->requires_grad)) {
    return false;
  }
  // Readers of conjugate views of complex tensors must change the sign themselves.
  for (PyObject* name : {name_is_conj_, name_is_neg_}) {
    const PyOwned owes(calls_, calls_.call_method(tensor, name, nullptr));
    if (!owes || owes.get() == calls_.true_object) return false;
  }
  return true;
}

}  // namespace sonde::adapt

// Reads what the probe needs to know of a torch.Tensor through its Python attributes, without
// torch's headers.
//
// Threads: the GIL. Errors: a tensor whose memory cannot be read here (another device, another
// layout, a wrapper without storage) is refused, and its Python side describes it instead.
#ifndef SONDE_ADAPT_PROBE_TENSOR_READER_H_
#define SONDE_ADAPT_PROBE_TENSOR_READER_H_

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapt/probe/python_calls.h"
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

class TensorReader {
 public:
  // `plain_types`: exact types that are read here.
  TensorReader(const PythonCalls& calls, std::unordered_map<PyObject*, DtypeInfo> dtypes,
               std::vector<PyObject*> plain_types);

  bool IsPlainTensor(const PyObject* object) const;
  // False, without an exception, for tensors that are refused.
  bool Read(PyObject* tensor, ReadTensor* out) const;

 private:
  bool ReadLayout(PyObject* tensor, ReadTensor* out) const;
  bool Sizes(PyObject* tuple, std::array<int64_t, kMaxDims>& out, size_t* count) const;
  bool Flag(PyObject* tensor, PyObject* name, bool* value) const;

  const PythonCalls& calls_;
  std::unordered_map<PyObject*, DtypeInfo> dtypes_;
  std::vector<PyObject*> plain_types_;
  PyObject* name_dtype_;
  PyObject* name_shape_;
  PyObject* name_is_cpu_;
  PyObject* name_requires_grad_;
  PyObject* name_data_ptr_;
  PyObject* name_stride_;
  PyObject* name_is_neg_;
  PyObject* name_is_conj_;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_TENSOR_READER_H_

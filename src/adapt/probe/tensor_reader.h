// Reads the properties of a torch.Tensor without torch's headers: through its Python attributes,
// and once a kind of tensor is known, in its memory (tensor_memory.h).
//
// Threads: the GIL. Errors: a tensor whose memory cannot be read here (another device, another
// layout, a wrapper without storage) is refused, and its Python side describes it instead.
#ifndef SONDE_ADAPT_PROBE_TENSOR_READER_H_
#define SONDE_ADAPT_PROBE_TENSOR_READER_H_

#include <array>
#include <span>
#include <unordered_map>
#include <vector>

#include "adapt/probe/python_calls.h"
#include "adapt/probe/read_tensor.h"
#include "adapt/probe/tensor_memory.h"

namespace sonde::adapt {

class TensorReader {
 public:
  // `plain_types`: exact types that are read here.
  TensorReader(const PythonCalls& calls, std::unordered_map<PyObject*, DtypeInfo> dtypes,
               std::vector<PyObject*> plain_types);

  bool IsPlainTensor(const PyObject* object) const;
  // False, without an exception, for tensors that are refused.
  bool Read(PyObject* tensor, ReadTensor* out);
  // From these samples on, reads kinds of tensors that it has learned without Python.
  void Learn(std::span<const TensorSample> samples) { memory_.Learn(samples); }
  // Whether the offsets were found, and no disagreement was seen since.
  bool reads_memory() const { return memory_.is_usable(); }

 private:
  bool ReadByPython(PyObject* tensor, ReadTensor* out) const;
  bool ReadLayout(PyObject* tensor, ReadTensor* out) const;
  bool ReadStorage(PyObject* tensor, ReadTensor* out) const;
  bool Sizes(PyObject* tuple, std::array<int64_t, kMaxDims>& out, size_t* count) const;
  bool Flag(PyObject* tensor, PyObject* name, bool* value) const;

  const PythonCalls& calls_;
  TensorMemory memory_;
  std::unordered_map<PyObject*, DtypeInfo> dtypes_;
  std::vector<PyObject*> plain_types_;
  PyObject* name_dtype_;
  PyObject* name_shape_;
  PyObject* name_is_cpu_;
  PyObject* name_requires_grad_;
  PyObject* name_data_ptr_;
  PyObject* name_stride_;
  PyObject* name_untyped_storage_;
  PyObject* name_is_neg_;
  PyObject* name_is_conj_;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_TENSOR_READER_H_

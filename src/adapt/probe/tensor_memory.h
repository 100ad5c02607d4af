// Offsets of a tensor's fields in the running torch, found and verified while the program runs.
//
// Reading a tensor's Python attributes costs close to a microsecond. Here the C++ object is read.
// An offset in it counts only if its values agree with Python's. A kind of tensor (its dispatch
// keys and type) is read only after the first of that kind has been compared. A single disagreement
// ends this for the process, and the Python attributes are used again. Threads: the GIL.
#ifndef SONDE_ADAPT_PROBE_TENSOR_MEMORY_H_
#define SONDE_ADAPT_PROBE_TENSOR_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "adapt/probe/read_tensor.h"
#include "adapt/python/python_api.h"

namespace sonde::adapt {

// Python's attributes of a tensor of at most five dimensions.
struct TensorSample {
  const PyObject* object = nullptr;
  uint64_t address = 0;  // of the tensor and its storage: `_cdata`
  uint64_t storage = 0;
  uint64_t storage_data = 0;
  uint64_t storage_offset = 0;  // in elements
  uint64_t keys = 0;            // raw dispatch keys
  uint64_t type = 0;            // torch's ScalarType
  bool requires_grad = false;
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};
};

class TensorMemory {
 public:
  // Finds the offsets by samples that differ in everything. Not found: this stays unusable.
  void Learn(std::span<const TensorSample> samples);
  bool is_usable() const { return is_usable_; }

  // False: this kind is new, or cannot be read here. `asks_gradient` is set where only Python knows
  // whether the tensor needs gradients.
  bool Read(const PyObject* object, ReadTensor* out, bool* asks_gradient) const;
  // Python's attributes agreed: the next tensor of this kind is read without them.
  void Note(const PyObject* object, const ReadTensor& read);

 private:
  struct Kind {
    uint64_t keys;
    uint16_t type;
    const DtypeInfo* dtype;
  };
  const char* TensorOf(const PyObject* object) const;
  bool ReadPlaces(const char* tensor, const DtypeInfo* dtype, ReadTensor* out) const;

  bool is_usable_ = false;
  size_t tensor_ = 0;   // in the Python object
  size_t storage_ = 0;  // in the tensor, as those that follow
  size_t gradients_ = 0;
  size_t sizes_ = 0;
  size_t offset_ = 0;
  size_t keys_ = 0;
  size_t type_ = 0;
  size_t data_ = 0;  // in the storage
  std::vector<Kind> kinds_;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_TENSOR_MEMORY_H_

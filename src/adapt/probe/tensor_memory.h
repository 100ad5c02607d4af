// Where the running torch keeps what the probe reads of a tensor, found out and proven as the
// program goes.
//
// Asking a tensor by its Python attributes costs close to a microsecond. Here the object of C++ is
// read: a place in it counts only if what it yields agrees with what Python said, and a kind of
// tensor (its dispatch keys and type) only after the first of that kind has been compared. A single
// disagreement ends it for the process, and Python is asked again.
// Threads: the GIL.
#ifndef SONDE_ADAPT_PROBE_TENSOR_MEMORY_H_
#define SONDE_ADAPT_PROBE_TENSOR_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "adapt/probe/read_tensor.h"
#include "adapt/python/python_api.h"

namespace sonde::adapt {

// What Python says of a tensor of at most five dimensions.
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
  // Finds the places by samples that differ in everything. Not found: this stays unusable.
  void Learn(std::span<const TensorSample> samples);
  bool is_usable() const { return is_usable_; }

  // False: this kind has not been seen, or cannot be read here. Where a tensor may need gradients
  // only Python knows, and `asks_gradient` is set.
  bool Read(const PyObject* object, ReadTensor* out, bool* asks_gradient) const;
  // Python has answered: the next of this kind need not be asked.
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

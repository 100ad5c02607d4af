// Inputs of an operator (shapes and types) to argument set ids, per thread.
//
// The inputs are encoded as in capture/args.h (kInputs) into a buffer on the stack. A per-thread
// table (id_cache.h) maps its hash to the id of a known set: no allocation, lock or call on that
// path. Tensors are read through the offsets of the self-test only; nothing of torch is called,
// since its getters may run Python code or print for subclasses and nested tensors. Such tensors
// (key set has a bit of Layout::opaque_keys) are recorded as kOpaqueTensor. Threads: one encoder
// per thread, used inside the start callback only.
#ifndef SONDE_ADAPT_TORCH_INPUTS_H_
#define SONDE_ADAPT_TORCH_INPUTS_H_

#include <cstddef>
#include <cstdint>

#include "adapt/python/id_cache.h"
#include "adapt/torch/layout.h"
#include "adapt/torch/torch_symbols.h"
#include "sonde/sonde.h"

namespace sonde::adapt {

// Fixed for the life of the process after attach.
struct InputsConfig {
  Layout layout;
  const void* undefined_tensor = nullptr;
};

// Type and size of a tensor, for collectives. elements -1: not readable.
struct TensorFacts {
  int64_t elements = -1;
  int dtype = -1;
};
TensorFacts ReadTensor(const InputsConfig& config, const void* tensor);

// Bytes of one element of a torch ScalarType; 0 where unknown. Name as torch prints it.
uint32_t DtypeBytes(int dtype);
const char* DtypeName(int dtype);

// Adds the inputs to an argument set that is being built, for the rare operator whose set has more.
void AddInputs(const InputsConfig& config, const TorchValue* values, size_t count, uint32_t key,
               sonde_args_builder* builder);

class InputsCache {
 public:
  // The id of the set of these inputs; 0 where there are none. Where a set does not fit into a
  // dictionary entry, tensor lists lose their tensors, then the whole set is left out (counted).
  uint32_t Intern(const InputsConfig& config, const TorchValue* values, size_t count);
  uint64_t oversized() const { return oversized_; }

 private:
  uint32_t Add(uint64_t hash, const unsigned char* bytes, size_t length);

  IdCache<256> ids_;
  uint32_t key_ = 0;
  uint64_t oversized_ = 0;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_INPUTS_H_

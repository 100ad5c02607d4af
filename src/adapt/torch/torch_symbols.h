// Functions of the loaded torch libraries, looked up by name: the adapter is built without torch
// headers, so that one binary serves every version.
//
// Only libraries that are already in the process are searched (RTLD_NOLOAD): the adapter never
// loads torch. All symbols below are exported by the wheels of torch 2.4 to 2.15; Find() names the
// missing one where a build lacks it. Threads: Find() is called once at attach; the table is
// read-only afterwards.
#ifndef SONDE_ADAPT_TORCH_TORCH_SYMBOLS_H_
#define SONDE_ADAPT_TORCH_TORCH_SYMBOLS_H_

#include <cstddef>
#include <cstdint>

namespace sonde::adapt {

// at::RecordFunction, of which only the address is used here; fields are read through Layout.
struct TorchRange;

// The return value of a start callback: a unique_ptr by value, i.e. through a hidden pointer. The
// destructor written out makes the compiler use the same convention for this type.
struct ObserverContext {
  void* pointer = nullptr;
  ObserverContext() = default;
  ObserverContext(const ObserverContext&) = delete;
  ObserverContext& operator=(const ObserverContext&) = delete;
  ~ObserverContext() {}  // NOLINT(modernize-use-equals-default): decides the calling convention
};

using RangeStart = ObserverContext (*)(const TorchRange*);
using RangeEnd = void (*)(const TorchRange*, void* context);

inline constexpr size_t kScopeCount = 10;
enum TorchScope : uint8_t { kScopeFunction = 0, kScopeBackward = 1, kScopeUser = 7 };

// at::RecordFunctionCallback: 40 bytes, the same in all versions, passed by value.
struct ObserverCallback {
  RangeStart start;
  RangeEnd end;
  double sampling_probability;
  uint8_t scopes[kScopeCount];
  uint8_t needs_inputs;
  uint8_t needs_outputs;
  uint8_t needs_ids;
  uint8_t reserved[3];
};
static_assert(sizeof(ObserverCallback) == 40 && offsetof(ObserverCallback, scopes) == 24 &&
              offsetof(ObserverCallback, needs_inputs) == 34);

struct TorchSymbols {
  uint64_t (*add_global_callback)(ObserverCallback);
  uint64_t (*add_thread_local_callback)(ObserverCallback);
  void (*remove_callback)(uint64_t handle);
  const char* (*range_name)(const TorchRange*);
  size_t (*range_num_inputs)(const TorchRange*);
  bool (*range_is_async)(const TorchRange*);
  const void* undefined_tensor;  // the TensorImpl of "no tensor"
};

// Fills `symbols`. Returns nullptr, or the name of what is missing ("libtorch_cpu.so", a symbol).
[[nodiscard]] const char* FindTorchSymbols(TorchSymbols* symbols);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_TORCH_SYMBOLS_H_

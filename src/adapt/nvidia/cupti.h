// CUPTI's activity interface, typed from its documentation; the library itself is found at run
// time, and any of CUDA 11 to 13 will do.
//
// Later releases only append fields to records: the offsets declared here are the same in all of
// them (CUpti_ActivityKernel4 to 11, CUpti_ActivityMemcpy3 to 6, CUpti_ActivityMemset2 to 4,
// CUpti_ActivityAPI). Times are nanoseconds; names belong to the library.
#ifndef SONDE_ADAPT_NVIDIA_CUPTI_H_
#define SONDE_ADAPT_NVIDIA_CUPTI_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace sonde::adapt::nvidia {

inline constexpr int kCuptiSuccess = 0;
inline constexpr int kCuptiMultipleSubscribers = 39;
inline constexpr int kCuptiInsufficientPrivileges = 35;

enum CuptiKind : uint32_t {
  kCuptiMemcpy = 1,
  kCuptiMemset = 2,
  kCuptiKernelSerial = 3,
  kCuptiDriver = 4,
  kCuptiRuntime = 5,
  kCuptiKernel = 10,      // concurrent: kernels run in parallel as without a profiler
  kCuptiMemcpyPeer = 22,  // between devices
};

enum CuptiDomain : uint32_t { kCuptiDriverApi = 1, kCuptiRuntimeApi = 2 };

struct CuptiKernelRecord {
  uint32_t kind;
  uint8_t cache_configuration;
  uint8_t shared_memory_configuration;
  uint16_t registers_per_thread;
  uint32_t cache_requested;
  uint32_t cache_executed;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t completed_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  int32_t grid[3];
  int32_t block[3];
  int32_t static_shared_bytes;
  int32_t dynamic_shared_bytes;
  uint32_t local_bytes_per_thread;
  uint32_t local_bytes;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;  // mangled
};
struct CuptiMemcpyRecord {
  uint32_t kind;
  uint8_t copy_kind;
  uint8_t source_kind;  // of memory
  uint8_t target_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
};
struct CuptiMemcpyPeerRecord {
  uint32_t kind;
  uint8_t copy_kind;
  uint8_t source_kind;
  uint8_t target_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t source_device;
  uint32_t source_context;
  uint32_t target_device;
  uint32_t target_context;
  uint32_t correlation;
};
struct CuptiMemsetRecord {
  uint32_t kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint16_t flags;
  uint16_t memory_kind;
};
struct CuptiApiRecord {
  uint32_t kind;
  uint32_t callback;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t process;
  uint32_t thread;
  uint32_t correlation;
  uint32_t result;
};
static_assert(offsetof(CuptiKernelRecord, start_ns) == 16);
static_assert(offsetof(CuptiKernelRecord, correlation) == 92);
static_assert(offsetof(CuptiKernelRecord, name) == 104);
static_assert(offsetof(CuptiMemcpyRecord, correlation) == 44);
static_assert(offsetof(CuptiMemcpyPeerRecord, correlation) == 60);
static_assert(offsetof(CuptiMemsetRecord, memory_kind) == 50);
static_assert(sizeof(CuptiApiRecord) == 40);

using CuptiRequest = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using CuptiComplete = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                               size_t valid);
using CuptiCallback = void (*)(void* data, uint32_t domain, uint32_t callback, const void* info);

struct Cupti {
  int (*subscribe)(void** subscriber, CuptiCallback callback, void* data);
  int (*unsubscribe)(void* subscriber);
  int (*register_callbacks)(CuptiRequest request, CuptiComplete complete);
  int (*enable)(uint32_t kind);
  int (*disable)(uint32_t kind);
  int (*next_record)(uint8_t* buffer, size_t valid, void** record);
  int (*dropped)(void* context, uint32_t stream, size_t* count);
  int (*flush_all)(uint32_t flag);
  int (*timestamp)(uint64_t* ns);
  int (*callback_name)(uint32_t domain, uint32_t callback, const char** name);
  int (*result_text)(int result, const char** text);
  int (*thread_id_type)(uint32_t type);
  int (*flush_period)(uint32_t milliseconds);  // null before CUDA 11.1
};

// Finds the library among those that the process has loaded. Empty text: found, else what is
// missing.
std::string FindCupti(Cupti* cupti);

// The meaning of a result, with the remedy.
std::string CuptiProblem(const Cupti& cupti, const char* call, int result);

}  // namespace sonde::adapt::nvidia

#endif  // SONDE_ADAPT_NVIDIA_CUPTI_H_

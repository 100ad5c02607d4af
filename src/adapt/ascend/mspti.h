// The interface of CANN's libmspti.so, typed from its documentation; the library itself is found at
// run time.
//
// It works only in processes that loaded it before all other libraries (LD_PRELOAD): elsewhere its
// calls return kWithoutPreload. Records are packed; names are pointers into the library's tables.
#ifndef SONDE_ADAPT_ASCEND_MSPTI_H_
#define SONDE_ADAPT_ASCEND_MSPTI_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace sonde::adapt::ascend {

inline constexpr int kMsptiSuccess = 0;
inline constexpr int kMsptiOtherSubscriber = 2;
inline constexpr int kMsptiWithoutPreload = 6;

enum MsptiKind : uint32_t {
  kMsptiKernel = 2,
  kMsptiApi = 3,
  kMsptiMemset = 6,
  kMsptiMemcpy = 7,
  kMsptiCommunication = 9,
};

struct [[gnu::packed]] MsptiKernel {
  uint32_t kind;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t stream;
  uint64_t correlation;
  const char* type;
  const char* name;
};
struct [[gnu::packed]] MsptiApi {
  uint32_t kind;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t pid;
  uint32_t tid;
  uint64_t correlation;
  const char* name;
};
struct [[gnu::packed]] MsptiMemory {  // copies and sets
  uint32_t kind;
  uint32_t code;  // kind of copy, value
  uint64_t bytes;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t stream;
  uint64_t correlation;
};
struct [[gnu::packed]] MsptiCommunication {
  uint32_t kind;
  uint32_t data_type;
  uint64_t count;
  uint32_t device;
  uint32_t stream;
  uint64_t start_ns;
  uint64_t end_ns;
  const char* algorithm;
  const char* name;
  const char* group;
  uint64_t correlation;
};
static_assert(offsetof(MsptiKernel, name) == 44 && offsetof(MsptiApi, name) == 36);
static_assert(offsetof(MsptiMemory, correlation) == 40);
static_assert(offsetof(MsptiCommunication, correlation) == 64);

using MsptiRequest = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using MsptiComplete = void (*)(uint8_t* buffer, size_t size, size_t valid);

struct Mspti {
  int (*subscribe)(void** subscriber, void* callback, void* data);
  int (*unsubscribe)(void* subscriber);
  int (*register_callbacks)(MsptiRequest request, MsptiComplete complete);
  int (*enable)(uint32_t kind);
  int (*disable)(uint32_t kind);
  int (*next_record)(uint8_t* buffer, size_t valid, void** record);
  int (*flush_all)(uint32_t flag);
  int (*flush_period)(uint32_t milliseconds);
};

// Finds the library among those that the process has loaded. Empty text: found, else what is
// missing.
std::string FindMspti(Mspti* mspti);

// The meaning of a result, with the remedy.
std::string MsptiProblem(const char* call, int result);

}  // namespace sonde::adapt::ascend

#endif  // SONDE_ADAPT_ASCEND_MSPTI_H_

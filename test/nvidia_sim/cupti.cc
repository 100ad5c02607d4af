// The interface of libcupti.so: subscriber, buffers, records, names.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include "simulation.h"

namespace {

enum Result : int {
  kSuccess = 0,
  kInvalidParameter = 1,
  kMaxLimitReached = 12,
  kMultipleSubscribers = 39
};
constexpr uint32_t kKinds = 64;
constexpr size_t kRecordBytes = 160;  // the largest; each begins at a multiple of it

using RequestFunction = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using CompleteFunction = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                                  size_t valid);

struct State {
  std::mutex mutex;
  bool has_subscriber = false;
  bool enabled[kKinds] = {};
  RequestFunction request = nullptr;
  CompleteFunction complete = nullptr;
  uint8_t* buffer = nullptr;
  size_t size = 0;
  size_t used = 0;
  size_t dropped = 0;
};
State& TheState() {
  static auto* state = new State();
  return *state;
}

std::atomic<int64_t> behind_ns{0};

// The lock must not be held: the subscriber may call us.
void Deliver() {
  State& state = TheState();
  uint8_t* buffer = nullptr;
  size_t size = 0;
  size_t used = 0;
  {
    const std::lock_guard lock(state.mutex);
    std::swap(buffer, state.buffer);
    std::swap(size, state.size);
    std::swap(used, state.used);
  }
  if (buffer == nullptr) return;
  // On a thread of the library, as the vendor's.
  std::thread([&] { state.complete(nullptr, 0, buffer, size, used); }).join();
}

struct Name {
  uint32_t domain;
  uint32_t callback;
  const char* name;
};
constexpr Name kNames[] = {
    {nvidia_sim::kRuntimeApi, nvidia_sim::kCudaGetDevice, "cudaGetDevice_v3020"},
    {nvidia_sim::kRuntimeApi, nvidia_sim::kCudaMemcpyAsync, "cudaMemcpyAsync_v3020"},
    {nvidia_sim::kRuntimeApi, nvidia_sim::kCudaMemsetAsync, "cudaMemsetAsync_v3020"},
    {nvidia_sim::kRuntimeApi, nvidia_sim::kCudaLaunchKernel, "cudaLaunchKernel_v7000"},
    {nvidia_sim::kDriverApi, nvidia_sim::kCuCtxSynchronize, "cuCtxSynchronize"},
    {nvidia_sim::kDriverApi, nvidia_sim::kCuLaunchKernel, "cuLaunchKernel"},
};

}  // namespace

void nvidia_sim::LogOnce() {
  static std::once_flag once;
  std::call_once(once, [] { std::fputs("nvidia_sim: this GPU is a simulation\n", stderr); });
}

uint64_t nvidia_sim::NowNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  return static_cast<uint64_t>(ns - behind_ns.load());
}

void nvidia_sim::Report(uint32_t kind, const void* record, size_t size) {
  State& state = TheState();
  bool is_full = false;
  {
    const std::lock_guard lock(state.mutex);
    if (kind >= kKinds || !state.enabled[kind] || state.request == nullptr) return;
    if (state.buffer == nullptr) {
      size_t most = 0;
      state.request(&state.buffer, &state.size, &most);
      state.used = 0;
      if (state.buffer == nullptr || state.size < kRecordBytes) std::abort();
    }
    std::memset(state.buffer + state.used, 0, kRecordBytes);
    std::memcpy(state.buffer + state.used, record, size);
    state.used += kRecordBytes;
    is_full = state.used + kRecordBytes > state.size;
  }
  if (is_full) Deliver();
}

void nvidia_sim_clock_behind(int64_t ns) { behind_ns = ns; }

void nvidia_sim_drop(uint64_t count) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.dropped += count;
}

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
SIM_API int cuptiSubscribe(void** subscriber, void*, void*) {
  nvidia_sim::LogOnce();
  if (subscriber == nullptr) return kInvalidParameter;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  if (state.has_subscriber) return kMultipleSubscribers;
  state.has_subscriber = true;
  *subscriber = &state;
  return kSuccess;
}

SIM_API int cuptiUnsubscribe(void*) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.has_subscriber = false;
  return kSuccess;
}

SIM_API int cuptiActivityRegisterCallbacks(RequestFunction request, CompleteFunction complete) {
  if (request == nullptr || complete == nullptr) return kInvalidParameter;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.request = request;
  state.complete = complete;
  return kSuccess;
}

SIM_API int cuptiActivityEnable(uint32_t kind) {
  if (kind == 0 || kind >= kKinds) return kInvalidParameter;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.enabled[kind] = true;
  return kSuccess;
}

SIM_API int cuptiActivityDisable(uint32_t kind) {
  if (kind == 0 || kind >= kKinds) return kInvalidParameter;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.enabled[kind] = false;
  return kSuccess;
}

SIM_API int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  auto* at = static_cast<uint8_t*>(*record);
  at = at == nullptr ? buffer : at + kRecordBytes;
  if (at + kRecordBytes > buffer + valid) return kMaxLimitReached;
  *record = at;
  return kSuccess;
}

SIM_API int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  *dropped = std::exchange(state.dropped, 0);
  return kSuccess;
}

SIM_API int cuptiActivityFlushAll(uint32_t) {
  Deliver();
  return kSuccess;
}

SIM_API int cuptiActivityFlushPeriod(uint32_t) { return kSuccess; }

SIM_API int cuptiGetTimestamp(uint64_t* ns) {
  *ns = nvidia_sim::NowNs();
  return kSuccess;
}

SIM_API int cuptiSetThreadIdType(uint32_t) { return kSuccess; }

SIM_API int cuptiGetCallbackName(uint32_t domain, uint32_t callback, const char** name) {
  for (const Name& known : kNames) {
    if (known.domain != domain || known.callback != callback) continue;
    *name = known.name;
    return kSuccess;
  }
  return kInvalidParameter;
}

SIM_API int cuptiGetResultString(int, const char** text) {
  *text = "CUPTI_ERROR_SIMULATED";
  return kSuccess;
}
// NOLINTEND(readability-identifier-naming)

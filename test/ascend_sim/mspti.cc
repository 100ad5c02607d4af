// The interface of libmspti.so: subscribers, buffers, records.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "simulation.h"

namespace {

enum Result : int { kSuccess = 0, kInvalid = 1, kOtherSubscriber = 2, kWithoutPreload = 6 };
constexpr int kQueueEmpty = 5;
constexpr uint32_t kKinds = 13;
constexpr size_t kRecordBytes = 72;  // the largest; each begins at a multiple of it

using RequestFunction = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using CompleteFunction = void (*)(uint8_t* buffer, size_t size, size_t valid);

struct State {
  std::mutex mutex;
  bool has_subscriber = false;
  bool enabled[kKinds] = {};
  RequestFunction request = nullptr;
  CompleteFunction complete = nullptr;
  uint8_t* buffer = nullptr;
  size_t size = 0;
  size_t used = 0;
};
State& TheState() {
  static auto* state = new State();
  return *state;
}

bool IsPreloaded() {
  const char* preload = std::getenv("LD_PRELOAD");
  return preload != nullptr && std::strstr(preload, "libmspti.so") != nullptr;
}

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
  std::thread([&] { state.complete(buffer, size, used); }).join();
}

}  // namespace

void ascend_sim::LogOnce() {
  static std::once_flag once;
  std::call_once(once,
                 [] { std::fputs("ascend_sim: this Ascend device is a simulation\n", stderr); });
}

const char* ascend_sim::Keep(const char* text) {
  static std::mutex mutex;
  static auto* texts = new std::set<std::string>();
  const std::lock_guard lock(mutex);
  return texts->insert(text).first->c_str();
}

void ascend_sim::Report(uint32_t kind, const void* record, size_t size) {
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

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
SIM_API int msptiSubscribe(void** subscriber, void*, void*) {
  ascend_sim::LogOnce();
  if (subscriber == nullptr) return kInvalid;
  if (!IsPreloaded()) return kWithoutPreload;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  if (state.has_subscriber) return kOtherSubscriber;
  state.has_subscriber = true;
  *subscriber = &state;
  return kSuccess;
}

SIM_API int msptiUnsubscribe(void*) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.has_subscriber = false;
  return kSuccess;
}

SIM_API int msptiActivityRegisterCallbacks(RequestFunction request, CompleteFunction complete) {
  if (request == nullptr || complete == nullptr) return kInvalid;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.request = request;
  state.complete = complete;
  return kSuccess;
}

SIM_API int msptiActivityEnable(uint32_t kind) {
  if (kind == 0 || kind >= kKinds) return kInvalid;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.enabled[kind] = true;
  return kSuccess;
}

SIM_API int msptiActivityDisable(uint32_t kind) {
  if (kind == 0 || kind >= kKinds) return kInvalid;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.enabled[kind] = false;
  return kSuccess;
}

SIM_API int msptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  auto* at = static_cast<uint8_t*>(*record);
  at = at == nullptr ? buffer : at + kRecordBytes;
  if (at + kRecordBytes > buffer + valid) return kQueueEmpty;
  *record = at;
  return kSuccess;
}

SIM_API int msptiActivityFlushAll(uint32_t) {
  Deliver();
  return kSuccess;
}

SIM_API int msptiActivityFlushPeriod(uint32_t) { return kSuccess; }
// NOLINTEND(readability-identifier-naming)

// The device: streams in order, times as they were asked for. Records as CUDA 13's headers have
// them, written out again here: a slip in the adapter's own declarations is to be seen.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "simulation.h"

namespace {

using nvidia_sim::NowNs;
using nvidia_sim::Report;

struct alignas(8) Kernel {  // CUpti_ActivityKernel11, its first part
  uint32_t kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers;
  uint32_t cache_requested, cache_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total, correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
};
struct alignas(8) Memcpy {  // CUpti_ActivityMemcpy6, its first part
  uint32_t kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, pad;
};
struct alignas(8) Memset {  // CUpti_ActivityMemset4, its first part
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t pad;
};
struct alignas(8) Api {  // CUpti_ActivityAPI
  uint32_t kind, callback;
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};

std::mutex mutex;
std::map<uint32_t, uint64_t> stream_ends;  // of the last task of each
std::atomic<uint32_t> last_correlation{0};

struct Times {
  uint64_t start;
  uint64_t end;
};

Times Run(uint32_t stream, uint64_t dur_ns) {
  const std::lock_guard lock(mutex);
  uint64_t& end = stream_ends[stream];
  const uint64_t start = std::max(end, NowNs());
  end = start + dur_ns;
  return {start, end};
}

const char* Keep(const char* text) {
  static auto* texts = new std::set<std::string>();
  const std::lock_guard lock(mutex);
  return texts->insert(text).first->c_str();
}

// One host call, with what it launches between its begin and its end.
class Call {
 public:
  Call(uint32_t kind, uint32_t callback, uint32_t correlation)
      : kind_(kind), callback_(callback), correlation_(correlation), begin_(NowNs()) {
    nvidia_sim::LogOnce();
  }
  Call(uint32_t kind, uint32_t callback) : Call(kind, callback, ++last_correlation) {}
  ~Call() {
    const Api api = {kind_,
                     callback_,
                     begin_,
                     NowNs(),
                     static_cast<uint32_t>(getpid()),
                     static_cast<uint32_t>(syscall(SYS_gettid)),
                     correlation_,
                     0};
    Report(kind_, &api, sizeof(api));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  uint32_t correlation() const { return correlation_; }

 private:
  uint32_t kind_;
  uint32_t callback_;
  uint32_t correlation_;
  uint64_t begin_;
};

void ReportKernel(const Call& call, const char* name, uint32_t stream, Times times) {
  Kernel kernel = {};
  kernel.kind = nvidia_sim::kConcurrentKernel;
  kernel.start = times.start;
  kernel.end = times.end;
  kernel.context = 1;
  kernel.stream = stream;
  kernel.correlation = call.correlation();
  kernel.name = Keep(name);
  Report(kernel.kind, &kernel, sizeof(kernel));
}

uint32_t Launch(const char* name, uint32_t stream, uint64_t dur_ns, bool has_ended) {
  {
    const Call asks(nvidia_sim::kRuntime, nvidia_sim::kCudaGetDevice);
  }
  const Call call(nvidia_sim::kRuntime, nvidia_sim::kCudaLaunchKernel);
  ReportKernel(call, name, stream, has_ended ? Run(stream, dur_ns) : Times{0, 0});
  return call.correlation();
}

}  // namespace

uint32_t nvidia_sim_kernel(const char* mangled, uint32_t stream, uint64_t dur_ns) {
  return Launch(mangled, stream, dur_ns, true);
}

uint32_t nvidia_sim_unfinished_kernel(const char* mangled) { return Launch(mangled, 7, 0, false); }

uint32_t nvidia_sim_driver_kernel(const char* mangled, uint32_t stream, uint64_t dur_ns) {
  const Call call(nvidia_sim::kDriver, nvidia_sim::kCuLaunchKernel);
  ReportKernel(call, mangled, stream, Run(stream, dur_ns));
  {
    const Call other(nvidia_sim::kDriver, nvidia_sim::kCuCtxSynchronize);
  }
  return call.correlation();
}

uint32_t nvidia_sim_memcpy(uint64_t bytes, uint32_t stream, uint64_t dur_ns) {
  const Call call(nvidia_sim::kRuntime, nvidia_sim::kCudaMemcpyAsync);
  const Times times = Run(stream, dur_ns);
  constexpr uint8_t kHostToDevice = 1;
  constexpr uint8_t kPageable = 1;
  constexpr uint8_t kDevice = 3;
  const Memcpy copy = {nvidia_sim::kMemcpy,
                       kHostToDevice,
                       kPageable,
                       kDevice,
                       1,
                       bytes,
                       times.start,
                       times.end,
                       0,
                       1,
                       stream,
                       call.correlation(),
                       0,
                       0};
  Report(copy.kind, &copy, sizeof(copy));
  return call.correlation();
}

uint32_t nvidia_sim_memset(uint64_t bytes, uint32_t stream, uint64_t dur_ns) {
  const Call call(nvidia_sim::kRuntime, nvidia_sim::kCudaMemsetAsync);
  const Times times = Run(stream, dur_ns);
  constexpr uint16_t kDevice = 3;
  const Memset set = {nvidia_sim::kMemset, 0, bytes,   times.start,
                      times.end,           0, 1,       stream,
                      call.correlation(),  0, kDevice, 0};
  Report(set.kind, &set, sizeof(set));
  return call.correlation();
}

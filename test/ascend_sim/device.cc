// The device: streams in order, times as they were asked for.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>

#include "simulation.h"

namespace {

enum Kind : uint32_t { kKernel = 2, kApi = 3, kMemcpy = 7, kCommunication = 9 };

struct [[gnu::packed]] Kernel {
  uint32_t kind;
  uint64_t start, end;
  uint32_t device, stream;
  uint64_t correlation;
  const char *type, *name;
};
struct [[gnu::packed]] Api {
  uint32_t kind;
  uint64_t start, end;
  uint32_t pid, tid;
  uint64_t correlation;
  const char* name;
};
struct [[gnu::packed]] Memcpy {
  uint32_t kind, copy_kind;
  uint64_t bytes, start, end;
  uint32_t device, stream;
  uint64_t correlation;
  uint8_t is_async;
};
struct [[gnu::packed]] Communication {
  uint32_t kind, data_type;
  uint64_t count;
  uint32_t device, stream;
  uint64_t start, end;
  const char *algorithm, *name, *group;
  uint64_t correlation;
};

std::mutex mutex;
std::map<uint32_t, uint64_t> stream_ends;  // of the last task of each
std::atomic<uint64_t> last_correlation{0};

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

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

// One host call, with what it launches between its begin and its end.
class Call {
 public:
  explicit Call(const char* name) : name_(ascend_sim::Keep(name)), begin_(NowNs()) {
    ascend_sim::LogOnce();
  }
  ~Call() {
    const Api api = {kApi,
                     begin_,
                     NowNs(),
                     static_cast<uint32_t>(getpid()),
                     static_cast<uint32_t>(syscall(SYS_gettid)),
                     correlation_,
                     name_};
    ascend_sim::Report(kApi, &api, sizeof(api));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  uint64_t correlation() const { return correlation_; }

 private:
  const char* name_;
  uint64_t begin_;
  uint64_t correlation_ = ++last_correlation;
};

void ReportKernel(const Call& call, const char* name, const char* type, uint32_t stream,
                  Times times) {
  const Kernel kernel = {kKernel,
                         times.start,
                         times.end,
                         0,
                         stream,
                         call.correlation(),
                         ascend_sim::Keep(type),
                         ascend_sim::Keep(name)};
  ascend_sim::Report(kKernel, &kernel, sizeof(kernel));
}

}  // namespace

uint64_t ascend_sim_kernel(const char* api, const char* name, const char* type, uint32_t stream,
                           uint64_t dur_ns) {
  const Call call(api);
  ReportKernel(call, name, type, stream, Run(stream, dur_ns));
  return call.correlation();
}

uint64_t ascend_sim_kernel_without_times(const char* api, const char* name) {
  const Call call(api);
  ReportKernel(call, name, "KERNEL_AICORE", 0, {0, 0});
  return call.correlation();
}

uint64_t ascend_sim_memcpy(void* to, const void* from, size_t size, uint32_t stream,
                           uint64_t dur_ns) {
  const Call call("aclrtMemcpyAsync");
  std::memcpy(to, from, size);
  const Times times = Run(stream, dur_ns);
  constexpr uint32_t kHostToDevice = 2;
  const Memcpy copy = {kMemcpy, kHostToDevice,      size, times.start, times.end, 0,
                       stream,  call.correlation(), 1};
  ascend_sim::Report(kMemcpy, &copy, sizeof(copy));
  return call.correlation();
}

uint64_t ascend_sim_communicate(const char* api, const char* name, const char* group,
                                uint64_t count, uint32_t stream, uint64_t dur_ns) {
  const Call call(api);
  const Times times = Run(stream, dur_ns);
  constexpr uint32_t kFloat32 = 4;
  const Communication record = {kCommunication,
                                kFloat32,
                                count,
                                0,
                                stream,
                                times.start,
                                times.end,
                                ascend_sim::Keep("MESH-RING"),
                                ascend_sim::Keep(name),
                                ascend_sim::Keep(group),
                                call.correlation()};
  ascend_sim::Report(kCommunication, &record, sizeof(record));
  return call.correlation();
}

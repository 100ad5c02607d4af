// Kernels, copies and host calls of NVIDIA GPUs, by CUPTI's activities.
#include "adapt/nvidia/cupti_tracer.h"

#include <cxxabi.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "adapt/device/device_file.h"
#include "adapt/nvidia/cupti.h"
#include "adapt/nvidia/cupti_calls.h"
#include "adapt/nvidia/synchronize.h"
#include "base/clock.h"

namespace sonde::adapt::nvidia {
namespace {

using capture::DeviceRecord;
using capture::DeviceRecordKind;
using capture::DeviceVendor;

constexpr size_t kBufferBytes = size_t{2} << 20U;
constexpr uint32_t kFlushPeriodMs = 1000;  // at most this much is lost when the process is killed
constexpr uint32_t kSystemThreadIds = 1;   // as gettid() has them
constexpr uint32_t kForced = 1;            // records that are not complete, too
// Kernels last: nothing is to be launched between their end and that of the calls.
constexpr std::array kKinds = {kCuptiRuntime, kCuptiDriver,     kCuptiMemcpy,
                               kCuptiMemset,  kCuptiMemcpyPeer, kCuptiKernel};
// By CUPTI's numbers: kinds of copies and of memory, in the words of torch's profiler.
constexpr auto kCopies = std::to_array<const char*>(
    {"?", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"});
constexpr auto kMemories =
    std::to_array<const char*>({"Unknown", "Pageable", "Pinned", "Device", "Array", "Managed",
                                "Device Static", "Managed Static"});

template <class Table>
const char* Word(const Table& table, uint32_t number) {
  return number < table.size() ? table[number] : "?";
}

class Tracer final : public device::DeviceTracer {
 public:
  explicit Tracer(const Cupti& cupti) : cupti_(cupti), calls_(cupti) {}

  std::string Start(const std::string& folder, uint32_t keep_last_seconds) override;
  std::string Stop() override;
  void AfterFork() override;

  void Take(void* context, uint32_t stream, uint8_t* buffer, size_t valid);

 private:
  std::string Subscribe();
  int64_t ClockOffset() const;
  void Write(const void* record);
  void WriteKernel(const CuptiKernelRecord& kernel);
  void WriteApi(const CuptiApiRecord& api);
  void WriteMemcpy(const CuptiMemcpyRecord& copy, uint32_t correlation);
  void WriteMemset(const CuptiMemsetRecord& set);
  void Add(DeviceRecord record, uint64_t start_ns, uint64_t end_ns);
  uint32_t KernelName(const char* mangled);
  std::string Losses() const;

  const Cupti cupti_;
  void* subscriber_ = nullptr;
  std::mutex mutex_;  // guards the members below: buffers come on a thread of the library
  device::DeviceFile file_;
  CuptiCalls calls_;
  std::unordered_map<std::string, std::string> demangled_;
  int64_t offset_ns_ = 0;  // to be added to CUPTI's times
  bool taking_ = false;
  int write_error_ = 0;
  uint64_t untimed_ = 0;  // tasks that had not ended, or were not timed
  uint64_t dropped_ = 0;  // by CUPTI
};

Tracer* the_tracer = nullptr;  // the library's callbacks have no argument of ours

void Request(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void Complete(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
  if (buffer == nullptr) return;
  the_tracer->Take(context, stream, buffer, valid);
  std::free(buffer);
}

void Ignore(void*, uint32_t, uint32_t, const void*) {}

// Offset from CUPTI's clock to the system's: the two agreed in all releases tried, without a
// guarantee.
int64_t Tracer::ClockOffset() const {
  int64_t best_span = INT64_MAX;
  int64_t offset = 0;
  for (int i = 0; i < 8; ++i) {
    uint64_t theirs = 0;
    const int64_t before = base::RealtimeNs();
    if (cupti_.timestamp(&theirs) != kCuptiSuccess) return 0;
    const int64_t after = base::RealtimeNs();
    if (after - before >= best_span) continue;
    best_span = after - before;
    offset = before + best_span / 2 - static_cast<int64_t>(theirs);
  }
  return offset;
}

std::string Tracer::Subscribe() {
  // A process has only one subscriber: subscribing keeps two profilers from taking each other's
  // activities.
  int result = cupti_.subscribe(&subscriber_, &Ignore, nullptr);
  if (result != kCuptiSuccess) {
    subscriber_ = nullptr;
    return CuptiProblem(cupti_, "cuptiSubscribe", result);
  }
  cupti_.thread_id_type(kSystemThreadIds);
  result = cupti_.register_callbacks(&Request, &Complete);
  if (result != kCuptiSuccess) {
    return CuptiProblem(cupti_, "cuptiActivityRegisterCallbacks", result);
  }
  for (const uint32_t kind : kKinds) {
    result = cupti_.enable(kind);
    if (result != kCuptiSuccess) return CuptiProblem(cupti_, "cuptiActivityEnable", result);
  }
  if (cupti_.flush_period != nullptr) cupti_.flush_period(kFlushPeriodMs);
  return "";
}

std::string Tracer::Start(const std::string& folder, uint32_t keep_last_seconds) {
  {
    const std::lock_guard lock(mutex_);
    const int result = file_.Open(folder, DeviceVendor::kNvidia, keep_last_seconds);
    if (result != 0) {
      return "tasks of the GPU are not recorded: " + folder + ": " + std::strerror(-result);
    }
    taking_ = true;
    write_error_ = 0;
    untimed_ = dropped_ = 0;
    offset_ns_ = ClockOffset();
  }
  std::string problem = Subscribe();
  if (!problem.empty()) Stop();
  return problem;
}

std::string Tracer::Stop() {
  if (subscriber_ != nullptr) {
    SynchronizeDevices();
    for (const uint32_t kind : kKinds) cupti_.disable(kind);
    if (cupti_.flush_period != nullptr) cupti_.flush_period(0);
    cupti_.flush_all(0);
    cupti_.flush_all(kForced);
    cupti_.unsubscribe(subscriber_);
    subscriber_ = nullptr;
  }
  const std::lock_guard lock(mutex_);
  taking_ = false;
  file_.Close();
  return Losses();
}

std::string Tracer::Losses() const {
  if (write_error_ != 0) {
    return "tasks of the GPU: " + std::to_string(file_.lost()) +
           " could not be written: " + std::strerror(-write_error_);
  }
  std::string text;
  if (untimed_ > 0) text = std::to_string(untimed_) + " came without times";
  if (dropped_ > 0) {
    text += (text.empty() ? "" : ", ") + std::to_string(dropped_) + " were dropped by CUPTI";
  }
  return text.empty() ? text : "tasks of the GPU: " + text;
}

void Tracer::AfterFork() {
  new (&mutex_) std::mutex();
  taking_ = false;
  subscriber_ = nullptr;
  file_.Close();
}

void Tracer::Take(void* context, uint32_t stream, uint8_t* buffer, size_t valid) {
  const std::lock_guard lock(mutex_);
  if (!taking_) return;
  void* record = nullptr;
  while (cupti_.next_record(buffer, valid, &record) == kCuptiSuccess && record != nullptr) {
    Write(record);
  }
  size_t dropped = 0;
  if (cupti_.dropped(context, stream, &dropped) == kCuptiSuccess) dropped_ += dropped;
  const int result = file_.Flush();
  if (result != 0) write_error_ = result;
}

template <class Record>
Record Load(const void* record) {
  Record loaded;
  std::memcpy(&loaded, record, sizeof(loaded));
  return loaded;
}

void Tracer::Write(const void* record) {
  switch (Load<uint32_t>(record)) {
    case kCuptiKernel:
    case kCuptiKernelSerial:
      return WriteKernel(Load<CuptiKernelRecord>(record));
    case kCuptiRuntime:
    case kCuptiDriver:
      return WriteApi(Load<CuptiApiRecord>(record));
    case kCuptiMemcpy: {
      const auto copy = Load<CuptiMemcpyRecord>(record);
      return WriteMemcpy(copy, copy.correlation);
    }
    case kCuptiMemcpyPeer:  // the same except for the correlation
      return WriteMemcpy(Load<CuptiMemcpyRecord>(record),
                         Load<CuptiMemcpyPeerRecord>(record).correlation);
    case kCuptiMemset:
      return WriteMemset(Load<CuptiMemsetRecord>(record));
    default:
      return;  // not asked for
  }
}

void Tracer::Add(DeviceRecord record, uint64_t start_ns, uint64_t end_ns) {
  if (start_ns == 0 || end_ns == 0) {
    ++untimed_;
    return;
  }
  record.start_ns = static_cast<int64_t>(start_ns) + offset_ns_;
  record.end_ns = static_cast<int64_t>(end_ns) + offset_ns_;
  file_.Add(record);
}

// C++ names as people write them; those of compilers and of C stay.
uint32_t Tracer::KernelName(const char* mangled) {
  if (mangled == nullptr) return 0;
  const auto [entry, is_new] = demangled_.try_emplace(mangled);
  if (is_new) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
    entry->second = status == 0 && text != nullptr ? text.get() : mangled;
  }
  return file_.Name(entry->second.c_str());
}

void Tracer::WriteKernel(const CuptiKernelRecord& kernel) {
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kKernel);
  record.device = kernel.device;
  record.stream = kernel.stream;
  record.name = KernelName(kernel.name);
  record.correlation = kernel.correlation;
  Add(record, kernel.start_ns, kernel.end_ns);
}

void Tracer::WriteApi(const CuptiApiRecord& api) {
  const CuptiDomain domain = api.kind == kCuptiDriver ? kCuptiDriverApi : kCuptiRuntimeApi;
  const char* name = calls_.NameOf(domain, api.callback);
  if (name == nullptr) return;
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kApi);
  record.stream = api.thread;
  record.name = file_.Name(name);
  record.correlation = api.correlation;
  Add(record, api.start_ns, api.end_ns);
}

void Tracer::WriteMemcpy(const CuptiMemcpyRecord& copy, uint32_t correlation) {
  std::string name = "Memcpy ";
  name += Word(kCopies, copy.copy_kind);
  name += std::string(" (") + Word(kMemories, copy.source_kind) + " -> ";
  name += std::string(Word(kMemories, copy.target_kind)) + ")";
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kMemcpy);
  record.code = copy.copy_kind;
  record.device = copy.device;
  record.stream = copy.stream;
  record.name = file_.Name(name.c_str());
  record.correlation = correlation;
  record.size = copy.bytes;
  Add(record, copy.start_ns, copy.end_ns);
}

void Tracer::WriteMemset(const CuptiMemsetRecord& set) {
  const std::string name = std::string("Memset (") + Word(kMemories, set.memory_kind) + ")";
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kMemset);
  record.code = static_cast<uint16_t>(set.value);
  record.device = set.device;
  record.stream = set.stream;
  record.name = file_.Name(name.c_str());
  record.correlation = set.correlation;
  record.size = set.bytes;
  Add(record, set.start_ns, set.end_ns);
}

}  // namespace

device::DeviceTracer* CuptiTracer(std::string* lacks) {
  if (the_tracer != nullptr) return the_tracer;
  Cupti cupti = {};
  *lacks = FindCupti(&cupti);
  if (lacks->empty()) the_tracer = new Tracer(cupti);
  return the_tracer;
}

}  // namespace sonde::adapt::nvidia

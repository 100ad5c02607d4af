// Kernels, copies, communications and host calls of an Ascend device, by libmspti.so.
#include "adapt/ascend/mspti_tracer.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>

#include "adapt/ascend/mspti.h"
#include "adapt/device/device_file.h"
#include "base/count_of.h"

namespace sonde::adapt::ascend {
namespace {

using capture::DeviceRecord;
using capture::DeviceRecordKind;

constexpr size_t kBufferBytes = size_t{1} << 20U;
constexpr uint32_t kFlushPeriodMs = 1000;  // at most this much is lost when the process is killed
constexpr std::array kKinds = {kMsptiKernel, kMsptiApi, kMsptiMemset, kMsptiMemcpy,
                               kMsptiCommunication};
// At a stop: until three rounds gave no records, sixteen at most.
constexpr int kQuietRounds = 3;
constexpr int kMostRounds = 16;
constexpr timespec kRound = {0, 25'000'000};

class Tracer final : public device::DeviceTracer {
 public:
  explicit Tracer(const Mspti& mspti) : mspti_(mspti) {}

  std::string Start(const std::string& folder, uint32_t keep_last_seconds) override;
  std::string Stop() override;
  void AfterFork() override;

  void Take(uint8_t* buffer, size_t valid);

 private:
  std::string Subscribe();
  void Write(const void* record);
  void WriteKernel(const MsptiKernel& kernel);
  void WriteApi(const MsptiApi& api);
  void WriteMemory(const MsptiMemory& memory, DeviceRecordKind kind);
  void WriteCommunication(const MsptiCommunication& communication);
  uint64_t Records();

  const Mspti mspti_;
  void* subscriber_ = nullptr;
  std::mutex mutex_;  // the file: buffers come on a thread of the library
  device::DeviceFile file_;
  bool taking_ = false;
  int write_error_ = 0;
  uint64_t untimed_ = 0;  // kernels that the library could not time
};

Tracer* the_tracer = nullptr;  // the library's callbacks have no argument of ours

void Request(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void Complete(uint8_t* buffer, size_t, size_t valid) {
  if (buffer == nullptr) return;
  the_tracer->Take(buffer, valid);
  std::free(buffer);
}

std::string Tracer::Subscribe() {
  int result = mspti_.subscribe(&subscriber_, nullptr, nullptr);
  if (result != kMsptiSuccess) {
    subscriber_ = nullptr;
    return MsptiProblem("msptiSubscribe", result);
  }
  result = mspti_.register_callbacks(&Request, &Complete);
  if (result != kMsptiSuccess) return MsptiProblem("msptiActivityRegisterCallbacks", result);
  for (const uint32_t kind : kKinds) {
    result = mspti_.enable(kind);
    // Releases before 26 do not support communications; recording goes on without them.
    if (result != kMsptiSuccess && kind != kMsptiCommunication) {
      return MsptiProblem("msptiActivityEnable", result);
    }
  }
  mspti_.flush_period(kFlushPeriodMs);
  return "";
}

std::string Tracer::Start(const std::string& folder, uint32_t keep_last_seconds) {
  {
    const std::lock_guard lock(mutex_);
    const int result = file_.Open(folder, capture::DeviceVendor::kAscend, keep_last_seconds);
    if (result != 0) {
      return "tasks of the NPU are not recorded: " + folder + ": " + std::strerror(-result);
    }
    taking_ = true;
    write_error_ = 0;
    untimed_ = 0;
  }
  std::string problem = Subscribe();
  if (!problem.empty()) Stop();
  return problem;
}

uint64_t Tracer::Records() {
  const std::lock_guard lock(mutex_);
  return file_.records() + file_.lost();
}

std::string Tracer::Stop() {
  if (subscriber_ != nullptr) {
    for (const uint32_t kind : kKinds) mspti_.disable(kind);
    int quiet = 0;
    for (int round = 0; round < kMostRounds && quiet < kQuietRounds; ++round) {
      const uint64_t before = Records();
      mspti_.flush_all(1);
      nanosleep(&kRound, nullptr);
      quiet = Records() == before ? quiet + 1 : 0;
    }
    mspti_.unsubscribe(subscriber_);
    subscriber_ = nullptr;
  }
  const std::lock_guard lock(mutex_);
  taking_ = false;
  file_.Close();
  if (write_error_ != 0) {
    return "tasks of the NPU: " + std::to_string(file_.lost()) +
           " could not be written: " + std::strerror(-write_error_);
  }
  if (untimed_ == 0) return "";
  return "tasks of the NPU: " + base::CountOf(untimed_, "kernel") + " came without times";
}

void Tracer::AfterFork() {
  new (&mutex_) std::mutex();
  taking_ = false;
  subscriber_ = nullptr;
  file_.Close();
}

void Tracer::Take(uint8_t* buffer, size_t valid) {
  const std::lock_guard lock(mutex_);
  if (!taking_) return;
  void* record = nullptr;
  while (mspti_.next_record(buffer, valid, &record) == kMsptiSuccess && record != nullptr) {
    Write(record);
  }
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
    case kMsptiKernel:
      return WriteKernel(Load<MsptiKernel>(record));
    case kMsptiApi:
      return WriteApi(Load<MsptiApi>(record));
    case kMsptiMemset:
      return WriteMemory(Load<MsptiMemory>(record), DeviceRecordKind::kMemset);
    case kMsptiMemcpy:
      return WriteMemory(Load<MsptiMemory>(record), DeviceRecordKind::kMemcpy);
    case kMsptiCommunication:
      return WriteCommunication(Load<MsptiCommunication>(record));
    default:
      return;  // not asked for
  }
}

void Tracer::WriteKernel(const MsptiKernel& kernel) {
  if (kernel.start_ns == 0 && kernel.end_ns == 0) {
    ++untimed_;
    return;
  }
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kKernel);
  record.device = kernel.device;
  record.stream = kernel.stream;
  record.name = file_.Name(kernel.name);
  record.type = file_.Name(kernel.type);
  record.start_ns = static_cast<int64_t>(kernel.start_ns);
  record.end_ns = static_cast<int64_t>(kernel.end_ns);
  record.correlation = kernel.correlation;
  file_.Add(record);
}

void Tracer::WriteApi(const MsptiApi& api) {
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kApi);
  record.stream = api.tid;
  record.name = file_.Name(api.name);
  record.start_ns = static_cast<int64_t>(api.start_ns);
  record.end_ns = static_cast<int64_t>(api.end_ns);
  record.correlation = api.correlation;
  file_.Add(record);
}

void Tracer::WriteMemory(const MsptiMemory& memory, DeviceRecordKind kind) {
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(kind);
  record.code = static_cast<uint16_t>(memory.code);
  record.device = memory.device;
  record.stream = memory.stream;
  record.start_ns = static_cast<int64_t>(memory.start_ns);
  record.end_ns = static_cast<int64_t>(memory.end_ns);
  record.correlation = memory.correlation;
  record.size = memory.bytes;
  file_.Add(record);
}

void Tracer::WriteCommunication(const MsptiCommunication& communication) {
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kCommunication);
  record.code = static_cast<uint16_t>(communication.data_type);
  record.device = communication.device;
  record.stream = communication.stream;
  record.name = file_.Name(communication.name);
  record.type = file_.Name(communication.algorithm);
  record.group = file_.Name(communication.group);
  record.start_ns = static_cast<int64_t>(communication.start_ns);
  record.end_ns = static_cast<int64_t>(communication.end_ns);
  record.correlation = communication.correlation;
  record.size = communication.count;
  file_.Add(record);
}

}  // namespace

device::DeviceTracer* MsptiTracer(std::string* lacks) {
  if (the_tracer != nullptr) return the_tracer;
  Mspti mspti = {};
  *lacks = FindMspti(&mspti);
  if (lacks->empty()) the_tracer = new Tracer(mspti);
  return the_tracer;
}

}  // namespace sonde::adapt::ascend

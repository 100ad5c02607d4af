#include "record/processor_use.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <charconv>

namespace sonde::record {
namespace {

uint64_t ClockNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

rusage UsageOf(int who) {
  rusage use{};
  getrusage(who, &use);
  return use;
}

// The second of the three numbers "processor time, wait, turns".
uint64_t WaitIn(const char* text, const char* end) {
  uint64_t processor_ns = 0;
  const auto first = std::from_chars(text, end, processor_ns);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return kUnknownWait;
  uint64_t wait_ns = 0;
  const auto second = std::from_chars(first.ptr + 1, end, wait_ns);
  const bool is_whole = second.ec == std::errc() && second.ptr != end && *second.ptr == ' ';
  return is_whole ? wait_ns : kUnknownWait;
}

}  // namespace

ProcessorUse ProcessorUseReader::Read() {
  ProcessorUse use;
  use.thread_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  use.process_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  const rusage thread = UsageOf(RUSAGE_THREAD);
  const rusage process = UsageOf(RUSAGE_SELF);
  use.thread_switches = static_cast<uint32_t>(thread.ru_nivcsw);
  use.process_switches = static_cast<uint32_t>(process.ru_nivcsw);
  use.thread_faults = static_cast<uint32_t>(thread.ru_majflt);
  use.process_faults = static_cast<uint32_t>(process.ru_majflt);
  use.wait_ns = ReadWait();
  return use;
}

uint64_t ProcessorUseReader::ReadWait() {
  if (is_missing_) return kUnknownWait;
  if (file_ < 0) {
    file_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    struct stat facts{};
    is_missing_ = file_ < 0 || fstat(file_, &facts) != 0;
    if (is_missing_) return kUnknownWait;
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
  }
  char text[80];
  const ssize_t size = IsOurs() ? pread(file_, text, sizeof(text), 0) : -1;
  if (size > 0) return WaitIn(text, text + size);
  is_missing_ = true;  // a program that closes files it did not open: not once more
  return kUnknownWait;
}

bool ProcessorUseReader::IsOurs() const {
  struct stat facts{};
  return fstat(file_, &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_;
}

void ProcessorUseReader::Close() {
  if (file_ >= 0 && IsOurs()) close(file_);
  file_ = -1;
  is_missing_ = false;
}

}  // namespace sonde::record

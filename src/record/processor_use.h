// What the calling thread and its process have used of the processors so far.
//
// It distinguishes a program that does more from one that waits for a processor. The wait comes
// from /proc/thread-self/schedstat, a file that stays open for the thread, since opening it costs
// ten times as much as reading it. Where the program closed it or put another file in its place,
// the wait is unknown. Costs about 3 us. Units: nanoseconds. One object a thread; no errors.
#ifndef SONDE_RECORD_PROCESSOR_USE_H_
#define SONDE_RECORD_PROCESSOR_USE_H_

#include <cstdint>

namespace sonde::record {

inline constexpr uint64_t kUnknownWait = UINT64_MAX;

struct ProcessorUse {
  uint64_t thread_ns = 0;           // user and system
  uint64_t process_ns = 0;          // the same of all threads
  uint64_t wait_ns = kUnknownWait;  // the thread was ready to run and had no processor
  uint32_t thread_switches = 0;     // involuntary
  uint32_t process_switches = 0;
  uint32_t thread_faults = 0;  // pages read from a disk or swap (major faults)
  uint32_t process_faults = 0;
};

class ProcessorUseReader {
 public:
  ProcessorUseReader() = default;
  ~ProcessorUseReader() { Close(); }
  ProcessorUseReader(const ProcessorUseReader&) = delete;
  ProcessorUseReader& operator=(const ProcessorUseReader&) = delete;

  ProcessorUse Read();
  // In a forked child the file is that of the parent's thread.
  void Close();

 private:
  uint64_t ReadWait();
  bool IsOurs() const;

  int file_ = -1;
  bool is_missing_ = false;
  uint64_t device_ = 0;  // of the file, to know it again
  uint64_t inode_ = 0;
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_PROCESSOR_USE_H_

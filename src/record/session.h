// One capture while it is being written: its folder, its files and the thread that drains the
// rings.
//
// The drain thread copies committed records into the segment file, every 5 to 50 ms by how full the
// rings are, and ties the clock to wall time: soon after the begin, then once a second. To end a
// session, the caller first stops new records (recorder.cc), then calls Finish, which takes the
// rest and removes the rings.
//
// Threads: Open, Start, Finish from one thread at a time; counters from any.
#ifndef SONDE_RECORD_SESSION_H_
#define SONDE_RECORD_SESSION_H_

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

#include "record/capture_files.h"
#include "record/dictionary.h"
#include "record/ring_list.h"
#include "record/session_config.h"

namespace sonde::record {

// State of a process's session that its forked children see.
inline constexpr uint32_t kParentRecords = 0;
inline constexpr uint32_t kParentStopped = 1;
inline constexpr uint32_t kParentEnded = 2;

struct SessionError {
  capture::StopReason reason = capture::StopReason::kStopped;
  int error = 0;  // negative errno
  std::string message;
};

class Session {
 public:
  // Called on the drain thread when the session cannot go on. True: the session has been finished
  // and the thread shall end; false: another thread is ending it, ask again later.
  using ErrorHandler = bool (*)(const SessionError& error);

  Session(SessionConfig config, uint32_t word, Dictionary* dictionary, RingList* rings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Folder, files, dictionary, drain thread. 0 or a failure with text; then nothing is left behind.
  [[nodiscard]] int Open(bool forked_child, uint32_t parent_pid, ErrorHandler on_error);

  // Drains the rest, writes the end mark and removes the rings. sonde_features_ is 0 and `all_out`
  // is RingList::WaitUntilOut's answer. On the drain thread only from its ErrorHandler. Returns why
  // the session really ended: `end`, or an error met while finishing.
  SessionError Finish(SessionError end, bool all_out);

  // In the child of a fork: closes the parent's files. The object then stays behind, because its
  // drain thread and locks exist only in the parent.
  void DropInChild();

  const SessionConfig& config() const { return config_; }
  uint32_t word() const { return word_; }
  // Between Open and the first record.
  void SetFeatures(uint32_t features, uint32_t word);
  const std::string& path() const { return path_; }
  uint64_t records() const { return records_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // kParent..., set when the session ends. A forked child's session ends with its parent's, but not
  // where the parent only ended as a process: then it goes on by itself.
  std::atomic<uint32_t>* family_flag() { return family_flag_; }
  std::atomic<uint32_t>* inherited_flag() { return inherited_flag_; }
  void set_inherited_flag(std::atomic<uint32_t>* flag) { inherited_flag_ = flag; }

 private:
  [[nodiscard]] int OpenFiles();
  [[nodiscard]] int StartDrainThread();
  void WriteProcess();
  void WriteProcessFacts(uint32_t parent_pid);
  static void* DrainMain(void* self);
  static void WakeDrain(void* self);
  void DrainLoop();
  double DrainAll();  // fullest ring, 0..1
  bool DrainRing(Ring* ring);
  void CloseRing(Ring* ring, bool owner_is_out);
  void StopDrainThread();
  void WriteEnd(const SessionError& end, uint64_t dropped, bool all_out);
  void AppendChunk(const ChunkSource& source);
  void SampleClock();
  bool KeepsLast() const { return config_.keep_last_seconds != 0; }
  void RotateDictionaryIfLarge(int64_t now_ns);
  [[nodiscard]] int RotateDictionary(int64_t now_ns);
  void CheckErrors();
  void CheckBudget();
  void SetError(capture::StopReason reason, int error, std::string message);
  void UpdateBytes();

  SessionConfig config_;
  const Budget budget_ = BudgetOfEnvironment();
  int64_t opened_ns_ = 0;
  uint32_t word_;
  Dictionary* const dictionary_;
  RingList* const rings_;
  ErrorHandler on_error_ = nullptr;
  CaptureIdentity identity_;
  std::string path_;
  DictionaryFile dictionary_files_[2];  // one is in use, the other is its successor
  uint32_t dictionary_number_ = 1;      // of the file in use, at index number modulo 2
  uint64_t dictionary_limit_ = 0;       // size in bytes from which it gets a successor
  struct KeptSample {
    int64_t now_ns;
    capture::ClockSampleEntry sample;
  };
  std::deque<KeptSample> kept_samples_;  // of the time to keep
  SegmentWriter segments_;

  pthread_t drain_thread_ = {};
  bool drain_running_ = false;
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool stop_drain_ = false;  // under wake_mutex_
  bool drain_now_ = false;   // the same

  // Used by the drain thread, and by Finish after it.
  bool detached_ = false;  // the parent process has ended
  bool ending_ = false;    // error_ holds the reason
  bool failed_ = false;    // nothing more can be written
  SessionError error_;
  uint64_t dropped_closed_ = 0;  // of rings that are gone
  uint64_t orphan_pops_ = 0;
  std::vector<Record> unfinished_;

  std::atomic<uint64_t> records_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint32_t>* family_flag_ = nullptr;     // own page, shared with children
  std::atomic<uint32_t>* inherited_flag_ = nullptr;  // the parent's
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_SESSION_H_

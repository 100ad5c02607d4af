// The recorder of a process: sessions one after another, listeners, threads, fork and exit.
//
// There is one per process, made at first use and never destroyed, because other threads may record
// until the very end. This and the thread buffers are the only global state.
//
// Locks, in the order in which they may be taken: control_mutex_ (held while a session starts or
// ends, listeners included), dynamic profiling's, child_mutex_ (held while a forked child's capture
// is made), the ring list's, the dictionary's, status_mutex_. Only control_mutex_ is held across
// foreign code, and it is never waited for on a recording path or around fork.
#ifndef SONDE_RECORD_RECORDER_H_
#define SONDE_RECORD_RECORDER_H_

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "record/control_thread.h"
#include "record/dictionary.h"
#include "record/fast_path.h"
#include "record/processor_use.h"
#include "record/ring_list.h"
#include "record/session.h"
#include "record/session_config.h"

namespace sonde::record {

enum class RecorderState : uint32_t { kIdle = 0, kPrepared = 1, kRecording = 2, kError = 3 };

// State of a thread that recorded or was named.
struct ThreadInfo {
  ThreadEntry entry;
  Ring* ring = nullptr;
  bool in_acquire = false;
  ProcessorUseReader use = {};
};

class Recorder {
 public:
  static Recorder& Get();
  static bool IsMade();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Dictionary& dictionary() { return dictionary_; }
  ControlThread& control() { return control_; }

  // Sessions. 0 or a failure with text.
  [[nodiscard]] int Prepare(const SessionConfig* config);
  [[nodiscard]] int Start(const SessionConfig* config);
  [[nodiscard]] int Stop(std::string* path);
  [[nodiscard]] int Discard();
  void StopAtExit();
  void GetStatus(sonde_session_status* status);
  std::string Path();
  uint32_t KeepLastSeconds();  // of the session, 0 none
  [[nodiscard]] int AddListener(sonde_listener listener, void* data, bool in_fork);

  // Threads.
  RingWriter* AcquireRing(uint32_t word);
  // For what is entered in the session's dictionary before its record is made: in a forked child
  // the capture is there afterwards, whichever thread makes it.
  void OpenPendingChild() {
    if (child_pending_.load(std::memory_order_acquire)) StartInChild();
  }
  ThreadInfo* CurrentThread();
  void NameThread(std::string name);
  void NumberThread(uint32_t number);
  static void EndThread(void* thread_info);

  void Step(int64_t number);
  // What the calling thread and its process have used of the processors so far.
  void RecordProcessorUse();

  // Around fork.
  void BeforeFork();
  void AfterForkInParent();
  void AfterForkInChild();

 private:
  Recorder();
  [[nodiscard]] int PrepareLocked(const SessionConfig& config);
  void StopLocked(SessionError end);
  void Notify(sonde_event event, const SessionConfig& config);
  bool StopOnError(const SessionError& error);
  void StartInChild();
  void OpenChildCapture();
  bool DropPendingChild();
  uint32_t NextWord(uint32_t features);
  void SetState(RecorderState state) { state_.store(state, std::memory_order_relaxed); }
  void PublishThread(const ThreadInfo& info);

  Dictionary dictionary_;
  RingList rings_{&dictionary_};
  ControlThread control_{this};
  std::atomic<RecorderState> state_{RecorderState::kIdle};
  std::atomic<uint64_t> session_number_{0};
  std::atomic<uint32_t> word_number_{0};
  std::atomic<int32_t> step_{-1};
  std::atomic<uint32_t> next_thread_index_{1};

  std::mutex control_mutex_;
  // Changed under status_mutex_ and control_mutex_; in a forked child its first one under
  // status_mutex_ and child_mutex_, while child_pending_.
  Session* session_ = nullptr;
  SessionError last_error_;       // under control_mutex_
  bool ended_by_itself_ = false;  // under control_mutex_: without an error, not reported yet

  std::mutex status_mutex_;  // guards the rest
  std::string path_;
  uint64_t last_records_ = 0;
  uint64_t last_dropped_ = 0;
  uint64_t last_bytes_ = 0;
  struct Listener {
    sonde_listener call;
    void* data;
    bool in_fork;  // wants SONDE_EVENT_FORK_CHILD too
  };
  std::vector<Listener> listeners_;

  // In a forked child of a recording process, until its first record has a capture to go to. The
  // threads that record meanwhile wait for child_mutex_.
  std::mutex child_mutex_;
  std::atomic<bool> child_pending_{false};  // becomes false under child_mutex_ only
  SessionConfig child_config_;
  std::atomic<uint32_t>* inherited_flag_ = nullptr;
  uint32_t parent_pid_ = 0;
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_RECORDER_H_

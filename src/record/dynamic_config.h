// Profiling by a control file that may change while the program runs ("dynamic profiling").
//
// The watched folder holds profiler_config.json, made with defaults when absent. Only a change of
// the file counts. It then gives the first step to record, the number of steps and the options; a
// profile covers warmup + active steps. Steps are announced by OnStep.
//
// Threads: Poll on the control thread, OnStep on any; the session starts and stops on the thread
// that announces the steps. Errors in the file are printed on standard error and otherwise ignored.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "record/json.h"
#include "record/session_config.h"

namespace sonde::record {

class Recorder;

struct FileVersion {
  int64_t modified_ns = 0;
  int64_t size = 0;
  uint64_t inode = 0;
  bool operator==(const FileVersion&) const = default;
};

class DynamicConfig {
 public:
  explicit DynamicConfig(Recorder* recorder) : recorder_(recorder) {}
  DynamicConfig(const DynamicConfig&) = delete;
  DynamicConfig& operator=(const DynamicConfig&) = delete;

  // 0 or a failure with text.
  [[nodiscard]] int Watch(const std::string& folder, const SessionConfig& defaults);
  void Unwatch();
  bool watching();

  // Looks at the file.
  void Poll();
  // The program begins step `number`; negative: the one after the last. Starts or ends a profile.
  void OnStep(int64_t number);

  // Around fork, with the recorder's other locks.
  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }
  void DropInChild();  // mutex held

 private:
  struct Request {
    SessionConfig config;
    int64_t start_step = 0;
    int64_t warmup = 0;
    int64_t active = 1;
  };
  enum class Phase { kIdle, kWaiting, kWarmup, kActive };

  Status ReadRequest(const std::string& text, Request* request, bool* listed) const;
  void TakeFile(const std::string& text);
  // The action for a step, decided under the mutex and done outside it.
  enum class Act { kNothing, kPrepare, kStart, kStop, kLate };
  Act Decide(int64_t step, Request* request);
  void Do(Act act, int64_t step, const Request& request);

  Recorder* const recorder_;
  std::mutex mutex_;  // guards the rest
  std::string path_;  // empty: not watching
  SessionConfig defaults_;
  FileVersion seen_;
  int64_t step_ = 0;
  Phase phase_ = Phase::kIdle;
  Request request_;
  int64_t steps_left_ = 0;  // of the phase
};

}  // namespace sonde::record

// The rendezvous of the processes of a run: a folder that all see, to exchange messages.
//
// A message is a file that appears whole; its name begins with the token of the run, so that what
// a run left that was killed is never taken for one of this. Each process holds a lock on a file of
// its own and writes a count into it four times a second: it counts as ended where the lock is free
// and the count stands still for five seconds (file systems differ in what locks mean between
// hosts), and where the count stands still for two minutes whatever the state of the lock.
// Threads: one of the caller's, in addition to the one that counts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/status.h"
#include "cluster/machines/launch.h"

namespace sonde::cluster {

class Rendezvous {
 public:
  // Of process 0: makes the folder, and removes what an ended run left in it, nothing else. Errors:
  // another run uses the folder.
  static Result<std::unique_ptr<Rendezvous>> Open(const std::string& folder);
  // Of the others: waits until process 0 is there. Errors: not within that time (kUnavailable).
  static Result<std::unique_ptr<Rendezvous>> Join(const std::string& folder, const Place& place,
                                                  std::chrono::seconds patience);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  ~Rendezvous();

  // `name`: "<kind>.<numbers>", of kind ask, answer or hello.
  Status Leave(std::string_view name, std::string_view message);
  // None where it is not there yet; damaged ones are kCorruptData.
  Result<std::optional<std::string>> Take(const std::string& name) const;
  // Whether the process still runs, as far as can be seen; asked again and again.
  bool IsThere(int32_t number);
  // Of process 0: all messages go, and the folder where nothing else is in it.
  void Close();

 private:
  // When a count last changed.
  struct Pulse {
    uint64_t count = 0;
    std::chrono::steady_clock::time_point at;
  };
  // Contents of the file of a process.
  struct Beat {
    uint64_t token = 0;
    uint64_t count = 0;
  };
  struct Seen {
    Beat beat;
    bool is_there = false;
    std::optional<bool> is_locked = false;  // none where the file system has no locks
  };
  Rendezvous(std::string folder, uint64_t token, int32_t number);
  Seen Look(int32_t number) const;
  // The file of process 0 of a live run; none where the run has ended.
  std::optional<Beat> LookForHead() const;
  Status BeginToCount();
  Status RemoveMessages() const;
  void Count();
  std::string PulseFile(int32_t number) const;
  std::string PathOf(std::string_view name) const;

  std::string folder_;
  uint64_t token_ = 0;
  int32_t number_ = 0;
  int descriptor_ = -1;
  std::map<int32_t, Pulse> pulses_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_ending_ = false;
  std::thread counter_;
};

// Sleeps a little longer each time, from 2 ms to 100 ms.
class Patience {
 public:
  void Wait();

 private:
  std::chrono::milliseconds next_{2};
};

}  // namespace sonde::cluster

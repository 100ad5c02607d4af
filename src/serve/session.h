// What a server shows: the traces that were opened, and where each stands.
//
// Traces are found and read in the background, several at a time; a Trace that is ready never
// changes. Threads: any. Errors: a trace that cannot be read is `failed` with a message; the
// session goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "importers/registry.h"
#include "serve/messages.h"
#include "store/store.h"
#include "store/user_statements.h"
#include "store/zoom_index.h"

namespace sonde::serve {

struct CounterValues {
  std::vector<int64_t> ts;  // ascending, nanoseconds of the epoch
  std::vector<double> values;
};

// One trace that can be shown.
struct Trace {
  int32_t id = 0;
  int64_t base_ns = 0;
  std::unique_ptr<store::Store> store;          // for statements of ours
  std::unique_ptr<store::UserStatements> user;  // for statements of the user
  store::ZoomIndex zoom;
  std::vector<std::string> names;

  const std::string& Name(int32_t name) const;  // "" for none

  // Values of a counter, kept once read.
  Result<std::shared_ptr<const CounterValues>> Counter(int32_t track) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<int32_t, std::shared_ptr<const CounterValues>> counters_;
};

class Session {
 public:
  // `paths`: what the user named. Reading begins at once.
  Session(std::string version, std::vector<std::string> paths);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // State of all, a copy.
  SessionMessage Describe() const;
  int64_t revision() const;
  // Until the revision differs from `known`, Stop() was called, or a second has passed.
  int64_t WaitForChange(int64_t known) const;
  // Ends streams of events; reading that has begun goes on to its end.
  void Stop();
  bool stopped() const;

  // kNotFound for a number that there is not, kUnavailable while it is being read.
  Result<std::shared_ptr<const Trace>> Find(int64_t id) const;
  // Those that are ready.
  std::vector<std::shared_ptr<const Trace>> Ready() const;
  // For statements over all traces that are ready; opened anew when there are more.
  Result<std::shared_ptr<const store::UserStatements>> AllRanks();

  // Statements of users that run, by the number that the page gave them.
  std::shared_ptr<store::Cancellation> BeginStatement(const std::string& id);
  void EndStatement(const std::string& id);
  bool CancelStatement(const std::string& id);

  // Answers that take long and do not change, by a key of the handler.
  std::string Remembered(const std::string& key) const;  // "" where there is none
  void Remember(const std::string& key, const std::string& answer);

 private:
  void Load();
  void FindAll();
  void LoadOne(size_t index);
  Result<std::shared_ptr<Trace>> Open(const importers::TraceSource& source, TraceMessage& message);
  int64_t BaseFor(int64_t begin_ns);
  template <class Change>
  void Update(Change&& change);

  const std::vector<std::string> paths_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  SessionMessage message_;
  bool stopped_ = false;
  int64_t base_ns_ = -1;
  std::vector<importers::TraceSource> sources_;
  std::vector<std::shared_ptr<const Trace>> traces_;  // null until ready
  std::shared_ptr<const store::UserStatements> all_ranks_;
  size_t all_ranks_count_ = 0;
  std::map<std::string, std::shared_ptr<store::Cancellation>> statements_;
  std::map<std::string, std::string> remembered_;
  std::jthread loader_;  // last: it uses the others
};

}  // namespace sonde::serve

// State of a server: the traces that were opened, and the progress of each.
//
// Traces are found and read in the background, several at a time. While a large one is read, a
// preview of it is shown, and of a recording that still grows what it holds so far; a Trace itself
// never changes, it is exchanged for another one, and the version in its message grows. Of many the
// small ones lie in packs (job/packs.h), and databases are open while they are asked. Of a lake, or
// of a finished result, there are maps of all ranks (rank_map.h), and the ranks that somebody opens
// are traces like others. Threads: any.
// Errors: a trace that cannot be read is `failed` with a message; the session goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "importers/import_watch.h"
#include "importers/registry.h"
#include "job/job.h"
#include "job/packs.h"
#include "serve/messages.h"
#include "serve/preview.h"
#include "serve/rank_map.h"
#include "serve/trace.h"
#include "store/store.h"
#include "store/user_statements.h"

namespace sonde::serve {

class Live;

class Session {
 public:
  // `paths`: what the user named. Reading begins at once. `roots`: folders inside of which more may
  // be opened later. `limits`: of each statement that is typed.
  Session(std::string version, std::vector<std::string> paths, std::vector<std::string> roots = {},
          const store::StatementLimits& limits = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Why nothing that the user named can be shown; ok where something can, or before that is known.
  Status WhyNothing() const;
  // Until one of both is known, `most` at most.
  Status WaitForSomething(std::chrono::milliseconds most) const;
  // Calls `end` once, from any thread, as soon as WhyNothing() has a reason.
  void WhenNothing(std::function<void()> end);

  // State of all, a copy.
  SessionMessage Describe() const;
  int64_t revision() const;
  size_t size() const;  // traces
  // Until the revision differs from `known`, Stop() was called, or a second has passed.
  int64_t WaitForChange(int64_t known) const;
  // Ends streams of events, statements and imports.
  void Stop();
  bool stopped() const;

  // Reads one more path, which must lie inside of a root. A trace that is open already is not
  // opened twice.
  Status Add(const std::string& path);
  // The absolute path without links; kPermissionDenied outside of the roots.
  Result<std::string> Confine(const std::string& path) const;
  std::vector<ProgressMessage> Progress() const;

  // A recording that grows: shows what it holds now, under the same trace as before. `ended`: for
  // the last time, as a trace like others.
  Status ShowRecording(const std::string& path, bool ended);
  // Programs that may be asked to record; null: none. It must outlive the handlers' use.
  void SetLive(Live* live);
  Live* live() const { return live_; }

  // kNotFound for a number that there is not, kUnavailable while there is nothing of it to show.
  Result<std::shared_ptr<const Trace>> Find(int64_t id) const;
  // All that were found, a copy.
  job::Job Job() const;
  // Those that are ready.
  std::vector<std::shared_ptr<const Trace>> Ready() const;
  // For statements over all traces that are ready; re-opened when there are more.
  Result<std::shared_ptr<const store::UserStatements>> AllRanks();

  // By their place in the message; kNotFound for another.
  Result<std::shared_ptr<RankMap>> FindMap(int64_t map) const;
  // Begins to read the trace of a rank of a map, unless it is there; its number.
  Result<int32_t> OpenRank(int64_t map, int64_t rank);
  // For statements over the first lake.
  Result<std::shared_ptr<const store::UserStatements>> Lake();

  // Statements of users that run, by the number that the page gave them.
  std::shared_ptr<store::Cancellation> BeginStatement(const std::string& id);
  void EndStatement(const std::string& id);
  bool CancelStatement(const std::string& id);

  // Answers that take long and do not change, by a key of the handler; the oldest give way.
  std::string Remembered(const std::string& key) const;  // "" where there is none
  void Remember(const std::string& key, const std::string& answer);

 private:
  // One trace of the session.
  struct Slot {
    importers::TraceSource source;
    std::shared_ptr<const Trace> trace;  // null until there is something to show
    importers::ImportWatch watch;
    bool is_begun = false;
  };

  void Load();
  void NoteFailure(const Status& failure);  // of a path that somebody named
  void NoteNothing();
  bool HasSomething() const;  // under the mutex
  void TouchStores() const;
  // `confined`: only what is in the roots, wherever links lead.
  void FindAll(std::vector<std::string> paths, bool confined);
  // Takes what is shown as maps out of the paths; the result that stands for recordings there, "".
  std::string FindMaps(std::vector<std::string>& paths);
  void AddMaps(std::vector<std::shared_ptr<RankMap>> maps);
  // A map in place of recordings, where a result is there for so many that they are not read.
  bool RestTraces(const std::string& result, const job::Job& found);
  void AddSlots(const char* state);  // of the traces of the job that have none; under the mutex
  void LoadOne(size_t index);
  void LoadPack(std::span<const job::StampedTrace> traces, const std::set<int32_t>& copies);
  void ShowPreview(size_t index, const Slot& slot);
  Result<std::shared_ptr<Trace>> Open(std::unique_ptr<store::Store> store, TraceMessage& message);
  void PutOnAxis(Trace& trace, TraceMessage& message);
  void Exchange(size_t index, std::shared_ptr<const Trace> trace, TraceMessage message);
  int64_t BaseFor(int64_t begin_ns);
  template <class Change>
  void Update(Change&& change) {
    const std::scoped_lock lock(mutex_);
    change();
    ++message_.revision;
    changed_.notify_all();
  }

  const std::vector<std::string> roots_;
  const store::StatementLimits limits_;
  const std::shared_ptr<Databases> databases_ =
      std::make_shared<Databases>(Databases::kMostStores, limits_);
  mutable std::mutex mutex_;
  std::vector<std::string> paths_;  // of the user, still to be looked at
  Status failure_;                  // of the first of them in which nothing was found
  Status why_nothing_;
  std::function<void()> end_;       // empty: nobody waits for that
  std::vector<std::string> added_;  // of the page, likewise
  bool is_opened_ = false;          // a rank of a map is to be read
  mutable std::condition_variable changed_;
  SessionMessage message_;
  bool stopped_ = false;
  int64_t base_ns_ = -1;
  job::Job job_;
  std::vector<std::unique_ptr<Slot>> slots_;  // of the job's traces, by their number
  std::shared_ptr<const store::UserStatements> all_ranks_;
  std::vector<int64_t> all_ranks_of_;  // their store ids
  std::vector<std::shared_ptr<RankMap>> maps_;
  std::shared_ptr<const store::UserStatements> lake_;
  std::map<std::string, std::shared_ptr<store::Cancellation>> statements_;
  std::deque<std::pair<std::string, std::string>> remembered_;
  size_t remembered_bytes_ = 0;
  Live* live_ = nullptr;  // set before the first request
  std::jthread loader_;   // last: it uses the others
};

}  // namespace sonde::serve

// Events of a trace on their way into the store: processes, threads, tracks, slices in lanes,
// flows, counters, marks.
//
//   EventStage stage(store, dialect, options);
//   SONDE_RETURN_IF_ERROR(stage.Read(path));    // one pass; arguments go to the database at once
//   SONDE_RETURN_IF_ERROR(stage.Arrange(base_ns));  // nest, number, bind flows
//   ... look at slices, add rows of other tables; names().Intern as needed ...
//   return Finish(stage, store, options, more);     // finish.h
//
// Memory: 40 bytes a slice while reading, about 30 more for arranging, arguments as the dialect
// wants them; the excess is in a file next to the store (pool). Units: nanoseconds as in the file;
// Arrange adds the base. Threads: Read uses up to options.threads; else one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/host/spill.h"
#include "base/status.h"
#include "importers/importer.h"
#include "importers/trace_events/arguments.h"
#include "importers/trace_events/dialect.h"
#include "importers/trace_events/event_blocks.h"
#include "importers/trace_events/shared_names.h"
#include "importers/trace_events/staged_events.h"
#include "store/import_issues.h"
#include "store/store.h"

namespace sonde::importers::trace_events {

// Processes, threads and tracks, for all readers of a file.
class TrackTable {
 public:
  int32_t Thread(std::string_view pid, std::string_view tid);
  int32_t Process(std::string_view pid);
  int32_t Track(int32_t thread, uint8_t lane);
  int32_t CounterTrack(std::string_view pid, int32_t name, const std::string& key);
  int32_t Add(const TrackEntry& entry);
  void Clear();

  // For the time when only one thread is at work.
  std::deque<ProcessEntry> processes;
  std::deque<ThreadEntry> threads;
  std::deque<TrackEntry> tracks;
  std::mutex mutex;

 private:
  int32_t ProcessLocked(std::string_view pid);
  std::unordered_map<std::string, int32_t, base::StringHash, std::equal_to<>> process_by_pid_;
  std::unordered_map<std::string, int32_t, base::StringHash, std::equal_to<>> thread_by_ids_;
  std::unordered_map<std::string, int32_t, base::StringHash, std::equal_to<>> counter_by_key_;
};

// Order and numbers that the rows get in the store.
struct Arrangement {
  explicit Arrangement(base::SpillPool* pool);
  base::SpillVector<uint32_t> by_slice;  // place in the staged slices, by slice_id
  base::SpillVector<int32_t> parents;    // slice_id of the parent, by slice_id; -1 none
  base::SpillVector<uint16_t> depths;    // by slice_id
  base::SpillVector<int32_t> preorder;   // slice_ids: a track after another, in order of begin
  // Numbers in the store by place in the TrackTable; -1: not used, not written.
  std::vector<int32_t> process_ids;
  std::vector<int32_t> thread_ids;
  std::vector<int32_t> track_ids;
  int32_t track_count = 0;
};

class Collector;
class FlowPairs;

class EventStage {
 public:
  // `store` null: arguments are read, but kept nowhere (tests).
  EventStage(store::Store* store, const Dialect& dialect, const ImportOptions& options);
  EventStage(store::Store& store, const Dialect& dialect, const ImportOptions& options)
      : EventStage(&store, dialect, options) {}
  EventStage(const EventStage&) = delete;
  EventStage& operator=(const EventStage&) = delete;
  ~EventStage();

  // May be called for several files of one trace.
  Status Read(const std::string& path);
  // With several threads the arguments are written, and the flows paired, in parallel.
  Status Arrange(int64_t base_ns);
  // The names of flows, before WriteFlows.
  void NameFlows();
  // These intern nothing and count no issues: they may run in parallel with WriteRest, with
  // transactions of their own. CountFlows adds the issues of the flows afterwards.
  Status WriteFlows(store::Transaction& transaction);
  Status WriteSlices(store::Transaction& transaction, store::ZoomWriter& zoom) const;
  Status WriteCounters(store::Transaction& transaction) const;
  void CountFlows();
  // Processes, threads, tracks and marks.
  Status WriteRest(store::Transaction& transaction);
  // Of the arguments, where that is not done; in parallel with all else.
  Status Commit();

  // Of processes without a device; before Write.
  void SetOrigin(int32_t rank, std::string_view host) {
    rank_ = rank;
    host_ = names_.pool().Intern(host);
  }

  // The other members of the file, in order; values are JSON.
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }
  void AddMetadata(std::string key, std::string json) {
    metadata_.emplace_back(std::move(key), std::move(json));
  }
  const std::vector<ProcessFact>& facts() const { return facts_; }
  store::NamePool& names() { return names_.pool(); }
  // For tables that grow with the trace.
  base::SpillPool* pool() const { return &pool_; }
  store::ImportIssues& issues() { return issues_; }
  TrackTable& tracks() { return tracks_; }
  const TrackTable& tracks() const { return tracks_; }
  const Dialect& dialect() const { return dialect_; }

  // After Arrange: slices by slice_id, in the order of the store.
  const Arrangement& arrangement() const { return arrangement_; }
  int64_t slice_count() const { return static_cast<int64_t>(arrangement_.by_slice.size()); }
  const StagedSlice& Slice(int32_t slice_id) const {
    return staged_.slices[arrangement_.by_slice[static_cast<size_t>(slice_id)]];
  }
  int32_t Parent(int32_t slice_id) const {
    return arrangement_.parents[static_cast<size_t>(slice_id)];
  }
  int64_t End(const StagedSlice& slice) const {
    return slice.dur < 0 ? last_ns_ : slice.ts + slice.dur;
  }
  const TrackEntry& TrackOf(const StagedSlice& slice) const {
    return tracks_.tracks[static_cast<size_t>(slice.track)];
  }
  // Values of captured arguments, by their place in Dialect::captured_keys.
  CapturedSet CapturedOf(const StagedSlice& slice) const;
  CapturedSet CapturedOf(int32_t slice_id) const { return CapturedOf(Slice(slice_id)); }
  CapturedSet CapturedOf(const InstantEvent& instant) const;
  std::optional<int64_t> Captured(int32_t slice_id, size_t key) const {
    return CapturedOf(slice_id).Get(key);
  }
  const Blocks<InstantEvent>& instants() const { return staged_.instants; }
  int32_t rank() const { return rank_; }
  const std::string& path() const { return path_; }  // of the file that was read last
  const Blocks<FlowEnd>& flow_ends() const { return staged_.flows; }
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }

 private:
  friend class Collector;
  friend class Arranger;
  friend class EdgePairs;
  friend class ImpossibleTimes;
  // By so many readers, each a piece at a time; 0: by one, as a whole.
  Status ReadFile(const std::string& path, int readers, bool& cut_wrongly);
  Status WriteArguments();
  void PairFlows();
  // The number of the set that both become together.
  int32_t JoinArguments(int32_t begin, int32_t end);
  Status WriteJoinedArguments();
  int32_t NameOf(const ProcessEntry& process);
  Status WriteThreads(store::Transaction& transaction);
  Status WriteTracks(store::Transaction& transaction);
  Status WriteMarks(store::Transaction& transaction);

  store::Store* store_;
  const Dialect& dialect_;
  ImportOptions options_;
  std::string path_;
  mutable base::SpillPool pool_;  // declared before its users
  BlockArena arena_;
  SharedNames names_;
  TrackTable tracks_;
  ArgumentNumbers argument_numbers_;
  store::ImportIssues issues_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<ProcessFact> facts_;
  std::vector<std::unique_ptr<store::Transaction>> transactions_;
  std::vector<std::unique_ptr<Collector>> collectors_;
  Staged staged_;
  base::SpillVector<JoinedArguments> joined_arguments_;
  Arrangement arrangement_;
  // Places of slices without a length, and of those around them that have none either.
  std::unordered_map<uint32_t, uint32_t> equal_parents_;
  bool arguments_are_written_ = false;
  std::unique_ptr<FlowPairs> flow_pairs_;            // from PairFlows to WriteFlows
  std::unordered_map<int32_t, int32_t> flow_kinds_;  // names, by that of the category
  int64_t unpaired_flows_ = 0;
  int64_t repeated_flows_ = 0;
  int64_t unbound_flows_ = 0;
  int32_t rank_ = store::kNone;
  int32_t host_ = store::kNone;
  int64_t base_ns_ = 0;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t last_begin_ns_ = 0;
};

}  // namespace sonde::importers::trace_events

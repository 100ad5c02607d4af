// The rows of one trace in memory while an importer collects them in any order, and the way from
// there into a store.
//
// Importers of files that hold a table a kind of thing (databases, CSV) append rows to the vectors
// below. Until Write(), a column that refers to a slice holds the index of its row in `slices`, and
// the slices are in any order, without slice_id, depth and parent_id. Write() nests the slices of
// each track, numbers them in the order that the store promises, and translates the references.
// Slices of a track that overlap without nesting go to another track of the same name and are
// counted. device_task and communication_op are brought into the order of start and numbered too;
// columns that refer to a task or operation hold the index of its row until then.
// Rows with impossible times (common/impossible_times.h) are left out and counted.
// Memory: all rows at once, about 60 bytes a slice; the excess is in a file (pool). Threads: one.
// Units: nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/host/spill.h"
#include "base/status.h"
#include "capture/track_kinds.h"
#include "importers/importer.h"
#include "importers/rows/number_table.h"
#include "store/import_issues.h"
#include "store/name_pool.h"
#include "store/rows.h"
#include "store/store.h"

namespace sonde::importers {

// From begin to end; -1 where the end comes first or the difference does not fit.
inline int64_t SpanNs(int64_t begin, int64_t end) {
  int64_t span = 0;
  return __builtin_sub_overflow(end, begin, &span) || span < 0 ? -1 : span;
}

// a - b, 0 where that does not fit.
inline int64_t Change(int64_t a, int64_t b) {
  int64_t change = 0;
  return __builtin_sub_overflow(a, b, &change) ? 0 : change;
}

// Whether sums over many such times and durations stay within 64 bits.
inline bool IsTime(int64_t ts, int64_t dur) {
  constexpr int64_t kLatest = int64_t{1} << 61;
  constexpr int64_t kLongest = int64_t{1} << 55;
  return ts >= 0 && ts <= kLatest && dur >= 0 && dur <= kLongest;
}

// A row of `track` to be found or made.
struct TrackKey {
  capture::TrackKind kind = capture::TrackKind::kThread;
  std::string_view name;
  int32_t process_id = store::kNone;
  int32_t thread_id = store::kNone;
  int32_t device_id = store::kNone;
  int32_t stream_id = store::kNone;
};

struct TextFact {
  int32_t process_id = store::kNone;
  std::string key;
  std::string json;
};

struct GroupFact {
  int64_t hash = 0;
  int32_t process_id = store::kNone;
  int32_t name = store::kNone;
  int32_t description = store::kNone;
  std::string rank_list;  // JSON
};

class TraceRows {
 public:
  // `spill_folder` is on a disk: for the rows that memory should not hold.
  explicit TraceRows(const std::string& spill_folder = "/tmp")
      : own_pool_({.folder = spill_folder}),
        pool_(&own_pool_),
        names(own_names_),
        issues(own_issues_) {}
  // Together with another writer of the same store, which has written processes, threads, slices
  // and the tracks before `first_track`, and will write texts, issues and metadata. References to
  // slices are slice_ids then, and Order(), WriteShared() and WriteOwn() end the use.
  TraceRows(store::NamePool& shared_names, store::ImportIssues& shared_issues,
            base::SpillPool* shared_pool, int32_t first_track)
      : own_pool_(base::SpillPool::Options{}),
        pool_(shared_pool),
        names(shared_names),
        issues(shared_issues),
        first_track_(first_track) {}
  TraceRows(const TraceRows&) = delete;
  TraceRows& operator=(const TraceRows&) = delete;

 private:
  base::SpillPool own_pool_;  // declared before its users
  base::SpillPool* pool_;
  template <class Row>
  using Rows = base::SpillVector<Row>;
  template <class Row>
  Rows<Row> NoRows() const {
    return Rows<Row>(base::SpillAllocator<Row>(pool_));
  }

 public:
  store::NamePool& names;
  store::ImportIssues& issues;

  std::vector<store::ProcessRow> processes;
  std::vector<store::ThreadRow> threads;
  std::vector<store::TrackRow> tracks;
  Rows<store::SliceRow> slices = NoRows<store::SliceRow>();
  Rows<store::ArgsIntRow> args_int = NoRows<store::ArgsIntRow>();
  Rows<store::ArgsDoubleRow> args_double = NoRows<store::ArgsDoubleRow>();
  Rows<store::ArgsTextRow> args_text = NoRows<store::ArgsTextRow>();
  Rows<store::OpSignatureRow> signatures = NoRows<store::OpSignatureRow>();
  Rows<store::FrameworkOpRow> ops = NoRows<store::FrameworkOpRow>();
  std::vector<store::CallstackRow> callstacks;
  Rows<store::FlowRow> flows = NoRows<store::FlowRow>();
  Rows<store::CounterRow> counters = NoRows<store::CounterRow>();
  std::vector<store::TaskKindRow> kinds;
  Rows<store::DeviceTaskRow> tasks = NoRows<store::DeviceTaskRow>();
  Rows<store::DeviceTaskPmuRow> pmu = NoRows<store::DeviceTaskPmuRow>();
  Rows<store::CommunicationOpRow> communications = NoRows<store::CommunicationOpRow>();
  Rows<store::CommunicationTransitRow> transits = NoRows<store::CommunicationTransitRow>();
  std::vector<GroupFact> groups;
  Rows<store::MemoryEventRow> memory_events = NoRows<store::MemoryEventRow>();
  Rows<store::MemoryBlockRow> memory_blocks = NoRows<store::MemoryBlockRow>();
  std::vector<store::StepRow> steps;
  Rows<store::MarkRow> marks = NoRows<store::MarkRow>();
  Rows<store::ApiCallRow> api_calls = NoRows<store::ApiCallRow>();
  std::vector<TextFact> metadata;

  // Each finds the row or appends it, and returns its number.
  int32_t Process(int64_t pid);
  int32_t Thread(int32_t process_id, int64_t tid);
  int32_t Track(const TrackKey& key);
  // Of a thread, called "Thread <tid>".
  int32_t ThreadTrack(capture::TrackKind kind, int32_t thread_id);
  // The stream of a thread where the CPU is the device, numbered from 0.
  int32_t CpuStream(int32_t process_id, int32_t thread_id);
  int32_t Kind(const store::TaskKindRow& kind);  // kind_id is set
  int32_t Signature(int32_t shapes, int32_t types);

  // Appends a slice and returns its index. A negative duration counts as an issue and as 0.
  int32_t AddSlice(int32_t track_id, int64_t ts, int64_t dur, int32_t name, int32_t category);

  void AddText(std::string_view key, std::string_view text);  // metadata, as a JSON string
  void AddJson(std::string_view key, std::string_view json);

  int32_t next_args_id = 0;
  int32_t first_mark = 0;  // marks before that the other writer of the store writes
  int32_t rank = -1;
  std::string source;  // file named in issues

  // For tables that grow with the trace.
  base::SpillPool* pool() { return pool_; }

  // Nests, numbers and orders; Write does so itself.
  void Arrange();

  // Nests, numbers and writes everything into the transaction; fills the summary. Ends the use of
  // the object.
  Result<ImportSummary> Write(store::Transaction& transaction);
  // Together with another writer, after Order(), which is for both: rows of tables that the other
  // one fills too, and those of all others. These two may run at once.
  void Order();
  Status WriteShared(store::Transaction& transaction) const;
  Status WriteOwn(store::Transaction& transaction) const;

 private:
  template <class Take>
  void ForEachTime(const Take& take) const;
  void LeaveOutImpossible();
  void LeaveOutApart();
  std::string Place(int32_t name) const;
  int32_t AddTrackLike(int32_t track_id);
  void NestSlices();
  void OrderTasks();
  void Translate();
  Status WriteFacts(store::Transaction& transaction) const;

  store::NamePool own_names_;
  store::ImportIssues own_issues_;
  int32_t first_track_ = 0;
  using TrackId = std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, int32_t>;
  std::map<int64_t, int32_t> process_of_pid_;
  std::map<std::pair<int32_t, int64_t>, int32_t> thread_of_tid_;
  std::map<TrackId, int32_t> track_of_key_;
  std::map<int32_t, int32_t> cpu_stream_of_thread_;
  std::map<std::pair<capture::TrackKind, int32_t>, int32_t> track_of_thread_;
  // All columns but the number itself.
  using KindColumns = std::array<int64_t, store::RowTraits<store::TaskKindRow>::kColumns - 1>;
  struct KindHash {
    size_t operator()(const KindColumns& columns) const;
  };
  std::unordered_map<KindColumns, int32_t, KindHash> kind_of_columns_;
  NumberTable<int32_t> signature_of_texts_{pool_};  // both names as one number
  base::SpillVector<int32_t> slice_number_{base::SpillAllocator<int32_t>(pool_)};  // by index
};

}  // namespace sonde::importers

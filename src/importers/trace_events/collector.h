// Takes the events of one reader in order and stages their content; part of EventStage.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "importers/trace_events/reader.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

class Collector : public EventSink {
 public:
  Collector(EventStage& stage, uint32_t number);

  Status Open(store::Transaction& transaction) { return splitter_.Open(transaction); }
  Status Close() { return splitter_.Close(); }

  Status TakeEvents(std::span<const TraceEvent> events) override;
  void TakeMetadata(std::string_view key, std::string_view json) override;

  // The events since the last call.
  Staged TakeStaged();
  store::ImportIssues& issues() { return issues_; }
  const CapturedArguments& captured() const { return splitter_.captured(); }
  int64_t bad_sets() const { return splitter_.bad_sets(); }
  std::vector<std::pair<std::string, std::string>>& metadata() { return metadata_; }
  std::vector<ProcessFact>& facts() { return facts_; }

 private:
  using Lanes = std::array<int32_t, kMaxLanes>;  // tracks
  struct CounterSeries {
    std::vector<std::pair<std::string, int32_t>> tracks;  // by key, in the order of the arguments
    // Places in `tracks`, once there are many; the few that most events have are found faster
    // there.
    std::unordered_map<std::string, size_t, base::StringHash, std::equal_to<>> places;
  };
  // The last text with each short hash.
  struct RecentThread {
    std::string pid;
    std::string tid;
    int32_t thread = -1;
    Lanes* lanes = nullptr;
  };
  struct RecentSeries {
    std::string pid;
    std::string name;
    std::string id;
    CounterSeries* series = nullptr;
  };
  static constexpr size_t kRecent = 32;

  void TakeEvent(const TraceEvent& event);
  void TakeSlice(const TraceEvent& event);
  // Without its identity: lane, or key.
  RangeEdge EdgeOf(const TraceEvent& event, char phase);
  void TakeEdge(const TraceEvent& event, char phase);
  void TakeAsync(const TraceEvent& event, char phase);
  void TakeInstant(const TraceEvent& event);
  void TakeCounter(const TraceEvent& event);
  void TakeFlow(const TraceEvent& event);
  void TakeBoundFlow(const TraceEvent& event);
  void TakeMetadataEvent(const TraceEvent& event);
  void TakeNames(const TraceEvent& event);
  bool TimeFits(const TraceEvent& event);
  RecentThread& Thread(const TraceEvent& event);
  int32_t ThreadOf(const TraceEvent& event) { return Thread(event).thread; }
  int32_t TrackOf(const TraceEvent& event);
  CounterSeries& SeriesOf(const TraceEvent& event);
  void AddSeries(CounterSeries& series, const TraceEvent& event, std::string_view key);
  size_t PlaceOf(CounterSeries& series, const TraceEvent& event, std::string_view key);
  int32_t Category(std::string_view category);
  ArgumentSplitter::Ids Arguments(const TraceEvent& event);
  void Count(const store::IssueKind& kind, const TraceEvent& event) {
    issues_.Add(kind, stage_.path_, static_cast<int64_t>(event.position));
  }

  EventStage& stage_;
  uint32_t number_;
  NameCache names_;
  ArgumentSplitter splitter_;
  store::ImportIssues issues_;
  Staged staged_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<ProcessFact> facts_;
  std::array<RecentThread, kRecent> recent_threads_;
  std::unordered_map<std::string, int32_t, base::StringHash, std::equal_to<>> threads_;
  std::unordered_map<int32_t, Lanes> lanes_;
  std::string last_category_text_;
  int32_t last_category_ = store::kNone;
  std::array<RecentSeries, kRecent> recent_series_;
  std::unordered_map<std::string, CounterSeries, base::StringHash, std::equal_to<>> counters_;
  std::string key_;  // scratch
};

}  // namespace sonde::importers::trace_events

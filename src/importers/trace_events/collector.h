// Takes events as they come from one reader and stages what they say; part of EventStage.
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

  // What came since the last call.
  Staged TakeStaged();
  store::ImportIssues& issues() { return issues_; }
  const CapturedArguments& captured() const { return splitter_.captured(); }
  int64_t bad_sets() const { return splitter_.bad_sets(); }
  std::vector<std::pair<std::string, std::string>>& metadata() { return metadata_; }

 private:
  struct CounterSeries {
    std::vector<std::pair<std::string, int32_t>> tracks;  // by key, in the order of the arguments
  };

  void TakeSlice(const TraceEvent& event);
  void TakeEdge(const TraceEvent& event, char phase);
  void TakeAsync(const TraceEvent& event, char phase);
  void TakeInstant(const TraceEvent& event);
  void TakeCounter(const TraceEvent& event);
  void TakeFlow(const TraceEvent& event);
  void TakeBoundFlow(const TraceEvent& event);
  void TakeNames(const TraceEvent& event);
  bool TimeFits(const TraceEvent& event);
  int32_t ThreadOf(const TraceEvent& event);
  int32_t TrackOf(int32_t thread, uint8_t lane);
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
  std::string last_pid_;
  std::string last_tid_;
  int32_t last_thread_ = -1;
  std::unordered_map<std::string, int32_t, base::StringHash, std::equal_to<>> threads_;
  std::unordered_map<int32_t, std::array<int32_t, kMaxLanes>> lanes_;
  int32_t last_lanes_thread_ = -1;
  std::array<int32_t, kMaxLanes>* last_lanes_ = nullptr;
  std::string last_category_text_;
  int32_t last_category_ = store::kNone;
  std::unordered_map<std::string, CounterSeries, base::StringHash, std::equal_to<>> counters_;
  std::string key_;  // scratch
};

}  // namespace sonde::importers::trace_events

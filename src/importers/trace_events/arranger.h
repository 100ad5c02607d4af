// Nests the slices of every track, numbers all rows, and finds the slices that flows and instants
// belong to; part of EventStage.
#pragma once

#include <span>
#include <vector>

#include "importers/common/nester.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

class Arranger {
 public:
  explicit Arranger(EventStage& stage);
  Status Run();

 private:
  static constexpr uint32_t kNoPlace = UINT32_MAX;
  struct Frame {
    int64_t end;
    uint32_t place;
  };
  // A flow end or an instant, which belongs to the slice that is open then.
  struct Moment {
    int64_t ts;
    uint32_t place;
    bool is_flow;
    bool enclosing;
  };

  struct Known {
    std::vector<bool> processes;
    std::vector<bool> threads;
  };

  int64_t EndOf(const StagedSlice& slice) const;
  void AddTracksOfMarks();
  void AddBase();
  void FindRange();
  void BucketByTrack();
  void CollectMoments();
  void SortMoments(size_t begin, size_t of_instants, size_t end);
  bool IsBefore(uint32_t a, uint32_t b) const;
  void SortTrack(size_t begin, size_t end);
  void OrderTrack(size_t begin, size_t end);
  void NestTrack(size_t track, size_t begin, size_t end);
  void Place(uint32_t place, int32_t track);
  void MoveAside(const std::vector<uint32_t>& places, int32_t track);
  void TakeMoments(size_t& next, size_t end, int64_t until, uint32_t next_place);
  void BindLanes();
  std::span<const Moment> MomentsOf(int32_t thread) const;
  void BindAside(int32_t thread, std::span<const uint32_t> places);
  void Bind(const Moment& moment, uint32_t place);
  void LabelTracks();
  ThreadFacts FactsOf(const ProcessEntry& process) const;
  void LabelCounter(TrackEntry& track) const;
  void LabelThread(TrackEntry& track) const;
  const StagedSlice* FirstSliceOf(const TrackEntry& track) const;
  Known UsedOnes() const;
  Known NamedOnes(const Known& used) const;
  void TakeProcessesOfThreads(Known& known) const;
  void NumberTracks();
  void NumberSlices();

  EventStage& stage_;
  Blocks<StagedSlice>& slices_;
  base::SpillVector<uint32_t> order_;         // places, by track, in the order of begin
  std::vector<size_t> begins_;                // of the tracks in order_
  base::SpillVector<uint32_t> parent_;        // by place
  base::SpillVector<uint16_t> depth_;         // by place
  std::vector<std::vector<uint32_t>> lanes_;  // slices by track and depth
  base::SpillVector<Moment> moments_;         // by thread and time
  std::vector<size_t> moment_begins_;         // of the threads in moments_
  Nester<Frame> open_;
};

}  // namespace sonde::importers::trace_events

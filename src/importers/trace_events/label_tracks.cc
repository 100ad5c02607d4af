// Names, kinds and devices of the tracks.
#include "base/strings.h"
#include "importers/trace_events/arranger.h"

namespace sonde::importers::trace_events {

using capture::TrackKind;

// Of the lane that it belongs to; null where that has none.
const StagedSlice* Arranger::FirstSliceOf(const TrackEntry& track) const {
  const ThreadEntry& thread = stage_.tracks_.threads[static_cast<size_t>(track.thread)];
  const auto lane = static_cast<size_t>(thread.tracks[track.lane]);
  if (lane + 1 >= begins_.size() || begins_[lane] == begins_[lane + 1]) return nullptr;
  return &slices_[order_[begins_[lane]]];
}

void Arranger::LabelTracks() {
  store::NamePool& names = stage_.names();
  for (TrackEntry& track : stage_.tracks_.tracks) {
    if (track.is_counter) {
      LabelCounter(track);
    } else if (track.is_span) {
      track.kind = names.Intern(capture::TextOf(TrackKind::kSpan));
      track.name = names.Intern("Asynchronous");
    } else {
      LabelThread(track);
    }
  }
}

ThreadFacts Arranger::FactsOf(const ProcessEntry& process) const {
  const auto text = [this](int32_t id) {
    return id < 0 ? std::string_view() : stage_.names().Text(id);
  };
  ThreadFacts facts;
  facts.process_name = text(process.name);
  facts.process_labels = text(process.labels);
  facts.pid = process.pid;
  return facts;
}

void Arranger::LabelCounter(TrackEntry& track) const {
  store::NamePool& names = stage_.names();
  const ProcessEntry& process = stage_.tracks_.processes[static_cast<size_t>(track.process)];
  const TrackLabel label = stage_.dialect_.LabelCounter(FactsOf(process), names.Text(track.name));
  track.kind = names.Intern(capture::TextOf(TrackKind::kCounter));
  track.name = names.Intern(label.name);
  track.device_id = label.device_id;
}

void Arranger::LabelThread(TrackEntry& track) const {
  store::NamePool& names = stage_.names();
  const TrackTable& table = stage_.tracks_;
  const ThreadEntry& thread = table.threads[static_cast<size_t>(track.thread)];
  ThreadFacts facts = FactsOf(table.processes[static_cast<size_t>(track.process)]);
  if (const StagedSlice* const slice = FirstSliceOf(track); slice != nullptr) {
    if (slice->category >= 0) facts.category = names.Text(slice->category);
    facts.arguments = stage_.CapturedOf(*slice);
  }
  if (thread.name >= 0) facts.thread_name = names.Text(thread.name);
  facts.tid = thread.tid;
  const TrackLabel label = stage_.dialect_.LabelTrack(facts, track.lane);
  track.kind = names.Intern(capture::TextOf(label.kind));
  track.device_id = label.device_id;
  track.stream_id = label.stream_id;
  if (!label.name.empty()) {
    track.name = names.Intern(label.name);
  } else if (thread.name >= 0) {
    track.name = thread.name;
  } else {
    track.name = names.Intern(label.stream_id < 0
                                  ? base::Concat("Thread ", thread.tid)
                                  : base::Concat("Stream ", std::to_string(label.stream_id)));
  }
}

}  // namespace sonde::importers::trace_events

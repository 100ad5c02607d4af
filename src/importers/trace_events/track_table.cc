// Processes, threads and tracks of a trace, found by the ids in the events.
#include "base/strings.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {
namespace {

std::string Joined(std::string_view a, std::string_view b) {
  std::string key(a);
  key += '\0';
  key.append(b);
  return key;
}

}  // namespace

int32_t TrackTable::ProcessLocked(std::string_view pid) {
  const auto found = process_by_pid_.find(pid);
  if (found != process_by_pid_.end()) return found->second;
  const auto id = static_cast<int32_t>(processes.size());
  ProcessEntry entry;
  entry.pid = pid;
  entry.number = base::ParseInt64(pid).value_or(-1 - id);
  processes.push_back(std::move(entry));
  process_by_pid_.emplace(pid, id);
  return id;
}

int32_t TrackTable::Process(std::string_view pid) {
  const std::lock_guard lock(mutex);
  return ProcessLocked(pid);
}

int32_t TrackTable::Thread(std::string_view pid, std::string_view tid) {
  const std::lock_guard lock(mutex);
  std::string key = Joined(pid, tid);
  const auto found = thread_by_ids_.find(key);
  if (found != thread_by_ids_.end()) return found->second;
  const auto id = static_cast<int32_t>(threads.size());
  ThreadEntry entry;
  entry.process = ProcessLocked(pid);
  entry.tid = tid;
  entry.number = base::ParseInt64(tid).value_or(-1 - id);
  entry.tracks.fill(-1);
  threads.push_back(std::move(entry));
  thread_by_ids_.emplace(std::move(key), id);
  return id;
}

int32_t TrackTable::Track(int32_t thread, uint8_t lane) {
  const std::lock_guard lock(mutex);
  int32_t& track = threads[static_cast<size_t>(thread)].tracks[lane];
  if (track >= 0) return track;
  track = static_cast<int32_t>(tracks.size());
  tracks.push_back(
      {.process = threads[static_cast<size_t>(thread)].process, .thread = thread, .lane = lane});
  return track;
}

int32_t TrackTable::CounterTrack(std::string_view pid, int32_t name, const std::string& key) {
  const std::lock_guard lock(mutex);
  const auto [place, is_new] =
      counter_by_key_.try_emplace(key, static_cast<int32_t>(tracks.size()));
  if (is_new) {
    tracks.push_back({.process = ProcessLocked(pid), .is_counter = true, .name = name});
  }
  return place->second;
}

int32_t TrackTable::Add(const TrackEntry& entry) {
  tracks.push_back(entry);
  return static_cast<int32_t>(tracks.size()) - 1;
}

void TrackTable::Clear() {
  processes.clear();
  threads.clear();
  tracks.clear();
  process_by_pid_.clear();
  thread_by_ids_.clear();
  counter_by_key_.clear();
}

}  // namespace sonde::importers::trace_events

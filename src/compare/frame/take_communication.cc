#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/strings.h"
#include "compare/frame/side.h"

namespace sonde::compare {
namespace {

using capture::TrackKind;
using recipes::TraceData;

class CommunicationTaker {
 public:
  CommunicationTaker(const TraceData& data, Side& side) : data_(data), side_(side) {}

  void Run() {
    for (const store::CommunicationOpRow& row : data_.communications) AddOp(row);
    std::stable_sort(side_.communications.begin(), side_.communications.end(),
                     [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    AddTasks();
    Attach();
    Describe();
  }

 private:
  // In texts a group is the lane that shows its operations, in databases its communicator.
  std::string TitleOf(const store::CommunicationOpRow& row) const {
    const bool has_lane = row.slice_id >= 0 && data_.HasTrackKind(data_.Slice(row.slice_id),
                                                                  TrackKind::kCommunicationGroup);
    if (side_.kind == SideKind::kNpuText && has_lane) {
      return std::string(data_.Name(data_.TrackOf(data_.Slice(row.slice_id)).name));
    }
    return std::string(data_.Name(row.group_name));
  }

  size_t GroupOf(const store::CommunicationOpRow& row) {
    const std::string title = TitleOf(row);
    const auto [found, is_new] = group_of_title_.try_emplace(title, side_.groups.size());
    if (is_new) {
      side_.groups.push_back({.title = title, .description = {}, .planes = {}});
      hashes_.push_back(static_cast<uint64_t>(row.group_hash));
    }
    return found->second;
  }

  void AddOp(const store::CommunicationOpRow& row) {
    if (!side_.window.Has(row.ts)) return;
    side_.communications.push_back({.name = row.name,
                                    .type = row.op_type,
                                    .group = GroupOf(row),
                                    .begin_ns = row.ts,
                                    .end_ns = row.dur < 0 ? data_.last_ns : row.ts + row.dur,
                                    .tasks = {}});
  }

  // Tasks of a plane that overlap are on tracks next to its own, which are like it but for their
  // number: by track, the first of them.
  std::vector<int32_t> PlanesOfTracks() const {
    std::map<std::array<int32_t, 6>, int32_t> firsts;
    std::vector<int32_t> planes;
    planes.reserve(data_.tracks.size());
    for (const store::TrackRow& track : data_.tracks) {
      const auto first = firsts.try_emplace({track.kind, track.name, track.process_id,
                                             track.thread_id, track.device_id, track.stream_id},
                                            track.track_id);
      planes.push_back(first.first->second);
    }
    return planes;
  }

  void AddTasks() {
    const std::vector<int32_t> planes = PlanesOfTracks();
    for (const int32_t id : data_.SlicesOfKinds({TrackKind::kCommunicationPlane})) {
      const store::SliceRow& slice = data_.Slice(id);
      if (!side_.window.Has(slice.ts)) continue;
      side_.communication_tasks.push_back({.name = slice.name,
                                           .plane = planes[static_cast<size_t>(slice.track_id)],
                                           .begin_ns = slice.ts,
                                           .end_ns = data_.EndNs(slice)});
    }
    std::stable_sort(side_.communication_tasks.begin(), side_.communication_tasks.end(),
                     [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  }

  // Tasks belong to the operation in which they begin.
  void Attach() {
    size_t next = 0;
    for (CommunicationOp& op : side_.communications) {
      CommunicationGroup& group = side_.groups[op.group];
      for (; next < side_.communication_tasks.size(); ++next) {
        const CommunicationTask& task = side_.communication_tasks[next];
        if (task.begin_ns < op.begin_ns) continue;
        if (task.begin_ns > op.end_ns) break;
        op.tasks.push_back(static_cast<uint32_t>(next));
        if (std::find(group.planes.begin(), group.planes.end(), task.plane) == group.planes.end()) {
          group.planes.push_back(task.plane);
        }
      }
    }
  }

  void Describe() {
    for (size_t i = 0; i < side_.groups.size(); ++i) {
      for (const recipes::CommunicationGroup& group : data_.groups) {
        if (group.hash == hashes_[i]) {
          side_.groups[i].description = std::string(data_.Name(group.description));
        }
      }
    }
  }

  const TraceData& data_;
  Side& side_;
  std::map<std::string, size_t> group_of_title_;
  std::vector<uint64_t> hashes_;
};

}  // namespace

void TakeCommunication(const TraceData& data, Side& side) { CommunicationTaker(data, side).Run(); }

}  // namespace sonde::compare

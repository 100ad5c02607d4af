#include "recipes/top_modules/module_calls.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/strings.h"

namespace sonde::recipes {
namespace {

constexpr std::string_view kInstance = "nn.Module: ";

}  // namespace

ModuleCalls::ModuleCalls(const TraceData& data) : data_(data) {
  for (const store::FrameworkOpRow& op : data.ops) {
    if (static_cast<Scope>(op.scope) == Scope::kModule) slices_.push_back(op.slice_id);
  }
  std::sort(slices_.begin(), slices_.end());
  // Parents have smaller numbers: slices are numbered by track, then depth.
  for (const int32_t id : slices_) path_of_slice_.emplace(id, AddPath(data.Slice(id)));
}

int32_t ModuleCalls::AddPath(const store::SliceRow& slice) {
  std::string path(data_.Name(slice.name));
  if (path.starts_with(kInstance)) {
    path.erase(0, kInstance.size());
    const int32_t around = PathOf(slice.parent_id);
    if (around >= 0) path = base::Concat(std::string(Path(around)), ".", path);
  }
  const auto [found, is_new] =
      number_of_path_.try_emplace(std::move(path), static_cast<int32_t>(paths_.size()));
  if (is_new) paths_.push_back(found->first);
  return found->second;
}

int32_t ModuleCalls::PathOf(int32_t slice_id) const {
  const auto found = path_of_slice_.find(slice_id);
  return found == path_of_slice_.end() ? store::kNone : found->second;
}

std::string_view ModuleCalls::ClassOf(int32_t slice_id) const {
  const store::SliceRow& slice = data_.Slice(slice_id);
  const std::string_view told = data_.TextArgument(slice.args_id, "class");
  std::string_view name = data_.Name(slice.name);
  if (!told.empty() || !name.starts_with(kInstance)) return told;
  name.remove_prefix(kInstance.size());
  const size_t end = name.find_last_not_of("0123456789");
  const bool has_number = end != std::string_view::npos && end > 0 && end + 1 < name.size();
  return has_number && name[end] == '_' ? name.substr(0, end) : name;
}

std::vector<int32_t> ModuleCalls::PathsAround(std::span<const int32_t> slice_ids) const {
  std::vector<int32_t> around(slice_ids.size(), store::kNone);
  if (slices_.empty()) return around;
  // A call, or a question: which one is open? Calls come before questions of the same moment.
  struct Event {
    int32_t thread;
    int64_t ts;
    bool is_question;
    int64_t end;    // of a call
    int32_t which;  // slice of the call, or index of the question
  };
  std::vector<Event> events;
  events.reserve(slices_.size() + slice_ids.size());
  for (const int32_t id : slices_) {
    const store::SliceRow& slice = data_.Slice(id);
    events.push_back({data_.TrackOf(slice).thread_id, slice.ts, false, data_.EndNs(slice), id});
  }
  for (size_t i = 0; i < slice_ids.size(); ++i) {
    if (slice_ids[i] < 0) continue;
    const store::SliceRow& slice = data_.Slice(slice_ids[i]);
    const int32_t thread = data_.TrackOf(slice).thread_id;
    if (thread >= 0) events.push_back({thread, slice.ts, true, 0, static_cast<int32_t>(i)});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tuple(a.thread, a.ts, a.is_question, -a.end, a.which) <
           std::tuple(b.thread, b.ts, b.is_question, -b.end, b.which);
  });
  std::vector<const Event*> open;
  int32_t thread = store::kNone;
  for (const Event& event : events) {
    if (event.thread != thread) open.clear();
    thread = event.thread;
    while (!open.empty() && open.back()->end <= event.ts) open.pop_back();
    if (!event.is_question) {
      open.push_back(&event);
    } else if (!open.empty()) {
      around[static_cast<size_t>(event.which)] = PathOf(open.back()->which);
    }
  }
  return around;
}

}  // namespace sonde::recipes

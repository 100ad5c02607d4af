#include "recipes/top_modules/module_calls.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/strings.h"

namespace sonde::recipes {
namespace {

constexpr std::string_view kInstance = "nn.Module: ";

// A call, or a question: which one is open when a slice begins? The times of both come mostly in
// order, and questions are many, so each kind is sorted by itself, and only where it has to be.
struct Call {
  int32_t thread;
  int32_t place;  // among the calls
  int64_t ts;
  int64_t end;
  auto Key() const { return std::tuple(thread, ts, -end, place); }
};

struct Question {
  int32_t thread;
  uint32_t index;
  int64_t ts;
  auto Key() const { return std::tuple(thread, ts, index); }
};

template <class Event>
void Sort(std::vector<Event>& events) {
  const auto before = [](const Event& a, const Event& b) { return a.Key() < b.Key(); };
  if (!std::is_sorted(events.begin(), events.end(), before)) {
    std::sort(events.begin(), events.end(), before);
  }
}

std::vector<Call> SortedCalls(const TraceData& data, const std::vector<int32_t>& slice_ids) {
  std::vector<Call> calls;
  calls.reserve(slice_ids.size());
  for (size_t i = 0; i < slice_ids.size(); ++i) {
    const store::SliceRow& slice = data.Slice(slice_ids[i]);
    calls.push_back(
        {data.TrackOf(slice).thread_id, static_cast<int32_t>(i), slice.ts, data.EndNs(slice)});
  }
  Sort(calls);
  return calls;
}

std::vector<Question> SortedQuestions(const TraceData& data, std::span<const int32_t> slice_ids) {
  std::vector<Question> questions;
  questions.reserve(slice_ids.size());
  for (size_t i = 0; i < slice_ids.size(); ++i) {
    if (slice_ids[i] < 0) continue;
    const store::SliceRow& slice = data.Slice(slice_ids[i]);
    const int32_t thread = data.TrackOf(slice).thread_id;
    if (thread >= 0) questions.push_back({thread, static_cast<uint32_t>(i), slice.ts});
  }
  Sort(questions);
  return questions;
}

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
  const std::string_view recorded = data_.TextArgument(slice.args_id, "class");
  std::string_view name = data_.Name(slice.name);
  if (!recorded.empty() || !name.starts_with(kInstance)) return recorded;
  name.remove_prefix(kInstance.size());
  const size_t end = name.find_last_not_of("0123456789");
  const bool has_number = end != std::string_view::npos && end > 0 && end + 1 < name.size();
  return has_number && name[end] == '_' ? name.substr(0, end) : name;
}

std::vector<int32_t> ModuleCalls::CallsAround(std::span<const int32_t> slice_ids) const {
  std::vector<int32_t> around(slice_ids.size(), store::kNone);
  if (slices_.empty()) return around;
  const std::vector<Call> calls = SortedCalls(data_, slices_);
  auto next = calls.begin();
  std::vector<const Call*> open;
  const auto leave = [&](int64_t ts) {
    while (!open.empty() && open.back()->end <= ts) open.pop_back();
  };
  int32_t thread = store::kNone;
  for (const Question& question : SortedQuestions(data_, slice_ids)) {
    if (question.thread != thread) open.clear();
    thread = question.thread;
    while (next != calls.end() && next->thread < thread) ++next;
    // A call that begins at the moment of the question is open then.
    for (; next != calls.end() && next->thread == thread && next->ts <= question.ts; ++next) {
      leave(next->ts);
      open.push_back(&*next);
    }
    leave(question.ts);
    if (!open.empty()) around[question.index] = open.back()->place;
  }
  return around;
}

}  // namespace sonde::recipes

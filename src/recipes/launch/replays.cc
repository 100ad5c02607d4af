#include "recipes/launch/replays.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "recipes/meaning/meaning.h"
#include "store/launch_calls.h"

namespace sonde::recipes {
namespace {

constexpr std::string_view kGenerated = "triton_";  // names of kernels that Inductor generates

enum class CaptureCall : uint8_t { kOther, kLaunch, kBegin, kEnd };

// By name; empty where nothing is captured.
std::vector<CaptureCall> CaptureCallsOf(const TraceData& data) {
  std::vector<CaptureCall> kinds(data.names.size());
  bool captures = false;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view name = data.names[i];
    if (store::IsLaunchCall(name)) kinds[i] = CaptureCall::kLaunch;
    if (name.find("StreamEndCapture") != std::string_view::npos) kinds[i] = CaptureCall::kEnd;
    if (name.find("StreamBeginCapture") != std::string_view::npos) {
      kinds[i] = CaptureCall::kBegin;
      captures = true;
    }
  }
  if (!captures) kinds.clear();
  return kinds;
}

bool IsGraphLaunch(const TraceData& data, int32_t call) {
  return call >= 0 &&
         data.Name(data.Slice(call).name).find("GraphLaunch") != std::string_view::npos;
}

bool IsGenerated(std::string_view name) { return name.substr(0, kGenerated.size()) == kGenerated; }

// A generated kernel is called by an operator of its name.
std::string_view GeneratedAround(const TraceData& data, int32_t slice_id) {
  for (int32_t id = slice_id; id >= 0; id = data.Slice(id).parent_id) {
    const std::string_view name = data.Name(data.Slice(id).name);
    if (IsGenerated(name)) return name;
  }
  return {};
}

// Kernels that operators launched themselves, and which capture a sequence of kernels is of.
class Join {
 public:
  Join(const TraceData& data, std::span<const int32_t> calls)
      : data_(data), captures_(CapturedLaunches(data)) {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls[i] < 0 || IsGraphLaunch(data, calls[i])) continue;
      const int32_t op = OperatorAround(data, calls[i]);
      if (op >= 0) launched_[data.Slice(op).name].insert(KernelOf(i));
    }
  }

  int32_t KernelOf(size_t task) const { return data_.Slice(data_.tasks[task].slice_id).name; }

  const std::vector<int32_t>* Of(const std::vector<int32_t>& kernels) {
    const auto [known, is_new] = chosen_.try_emplace(kernels, nullptr);
    if (is_new) known->second = Find(kernels);
    return known->second;
  }

 private:
  const std::vector<int32_t>* Find(const std::vector<int32_t>& kernels) const {
    const std::vector<int32_t>* found = nullptr;
    for (const std::vector<int32_t>& capture : captures_) {
      if (capture.size() != kernels.size() || !Fits(capture, kernels)) continue;
      if (found != nullptr && !AreInTheSamePlaces(*found, capture)) return nullptr;
      if (found == nullptr) found = &capture;
    }
    return found;
  }

  bool Fits(const std::vector<int32_t>& capture, const std::vector<int32_t>& kernels) const {
    size_t alike = 0;
    size_t other = 0;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const std::string_view kernel = data_.Name(kernels[i]);
      const std::string_view generated = GeneratedAround(data_, capture[i]);
      if ((IsGenerated(kernel) || !generated.empty()) && kernel != generated) return false;
      const int32_t op = OperatorAround(data_, capture[i]);
      const auto known = op < 0 ? launched_.end() : launched_.find(data_.Slice(op).name);
      if (known == launched_.end()) continue;
      (known->second.contains(kernels[i]) ? alike : other) += 1;
    }
    return alike >= other;
  }

  bool AreInTheSamePlaces(const std::vector<int32_t>& one,
                          const std::vector<int32_t>& other) const {
    for (size_t i = 0; i < one.size(); ++i) {
      int32_t a = one[i];
      int32_t b = other[i];
      while (a >= 0 && b >= 0 && data_.Slice(a).name == data_.Slice(b).name) {
        a = data_.Slice(a).parent_id;
        b = data_.Slice(b).parent_id;
      }
      if (a >= 0 || b >= 0) return false;
    }
    return true;
  }

  const TraceData& data_;
  std::vector<std::vector<int32_t>> captures_;
  std::map<int32_t, std::set<int32_t>> launched_;
  std::map<std::vector<int32_t>, const std::vector<int32_t>*> chosen_;
};

}  // namespace

std::vector<std::vector<int32_t>> CapturedLaunches(const TraceData& data) {
  const std::vector<CaptureCall> kinds = CaptureCallsOf(data);
  if (kinds.empty()) return {};
  const auto kind_of = [&](const store::SliceRow& slice) {
    return slice.name < 0 ? CaptureCall::kOther : kinds[static_cast<size_t>(slice.name)];
  };
  std::vector<int32_t> calls;
  for (const store::SliceRow& slice : data.slices) {
    const bool is_within = slice.parent_id >= 0 && kind_of(slice) == CaptureCall::kLaunch &&
                           kind_of(data.Slice(slice.parent_id)) == CaptureCall::kLaunch;
    if (kind_of(slice) != CaptureCall::kOther && !is_within) calls.push_back(slice.slice_id);
  }
  std::sort(calls.begin(), calls.end(), [&](int32_t a, int32_t b) {
    const store::SliceRow& one = data.Slice(a);
    const store::SliceRow& other = data.Slice(b);
    return std::pair(one.track_id, one.ts) < std::pair(other.track_id, other.ts);
  });
  std::vector<std::vector<int32_t>> captures;
  int32_t track = store::kNone;  // of the capture that is open
  for (const int32_t call : calls) {
    const store::SliceRow& slice = data.Slice(call);
    const CaptureCall kind = kind_of(slice);
    if (kind == CaptureCall::kBegin) {
      track = slice.track_id;
      captures.emplace_back();
    } else if (slice.track_id != track || kind == CaptureCall::kEnd) {
      track = store::kNone;
    } else {
      captures.back().push_back(call);
    }
  }
  return captures;
}

std::vector<int32_t> LaunchesOfReplays(const TraceData& data, std::span<const int32_t> calls) {
  if (CaptureCallsOf(data).empty()) return {};
  const std::vector<Work> works = MeaningsOf(data);
  std::map<int32_t, std::vector<size_t>> replays;  // kernels by the call, in the order of start
  for (size_t i = 0; i < calls.size(); ++i) {
    const Work work = works[static_cast<size_t>(data.tasks[i].kind_id)];
    const bool is_kernel = work == Work::kComputing || work == Work::kCommunication;
    if (is_kernel && IsGraphLaunch(data, calls[i])) replays[calls[i]].push_back(i);
  }
  if (replays.empty()) return {};
  Join join(data, calls);
  std::vector<int32_t> found(calls.size(), store::kNone);
  for (const auto& [call, tasks] : replays) {
    std::vector<int32_t> kernels;
    std::set<int32_t> streams;
    for (const size_t task : tasks) {
      kernels.push_back(join.KernelOf(task));
      streams.insert(data.tasks[task].track_id);
    }
    const std::vector<int32_t>* capture = streams.size() == 1 ? join.Of(kernels) : nullptr;
    for (size_t i = 0; capture != nullptr && i < tasks.size(); ++i) found[tasks[i]] = (*capture)[i];
  }
  return found;
}

int32_t OperatorAround(const TraceData& data, int32_t slice_id) {
  for (int32_t slice = slice_id; slice >= 0; slice = data.Slice(slice).parent_id) {
    const auto op = std::lower_bound(
        data.ops.begin(), data.ops.end(), slice,
        [](const store::FrameworkOpRow& row, int32_t id) { return row.slice_id < id; });
    const bool is_op = op != data.ops.end() && op->slice_id == slice;
    if (is_op && IsOperator(op->scope)) return slice;
  }
  return store::kNone;
}

}  // namespace sonde::recipes

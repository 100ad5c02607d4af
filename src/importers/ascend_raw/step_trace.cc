#include "importers/ascend_raw/step_trace.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

enum Tag : uint16_t {
  kModelBegin = 0,
  kModelEnd = 1,
  kForward = 2,
  kBackward = 3,
  kIterationEnd = 4,
  kMark = 11,
  kRange = 12,
  kStepBegin = 60000,
  kStepEnd = 60001,
};

// Of the mark with number 0, as the vendor's tools count.
constexpr int64_t kFirstConnection = 4'000'000'001;

// Whether CANN is of version 9.1 or later.
bool HasRangeTags(const std::string& device_folder, int32_t device) {
  const auto info =
      base::JsonDocument::ReadFile(Concat(device_folder, "/info.json.", std::to_string(device)));
  if (!info.ok()) return false;
  const std::string text = info->root().GetString("cannVersion", "").value_or("");
  const std::vector<std::string_view> parts = base::Split(text, '.');
  if (parts.size() < 2) return false;
  const auto major = base::ParseInt64(parts[0]);
  const auto minor = base::ParseInt64(parts[1]);
  return major && minor && (*major > 9 || (*major == 9 && *minor >= 1));
}

}  // namespace

StepTrace::StepTrace(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder,
                     int64_t pid)
    : rows_(rows),
      device_(device),
      pid_(pid),
      has_range_tags_(HasRangeTags(device_folder, device.device())) {}

int64_t StepTrace::Span(uint64_t begin, uint64_t end) const {
  return SpanNs(device_.clock().FromTicks(begin), device_.clock().FromTicks(end));
}

// Without a tag for ranges the first record of a number is the begin of one, the last its end.
void StepTrace::AddMarks(const Marks& marks) {
  std::vector<TrackStep> records;
  std::ranges::copy_if(device_.steps(), std::back_inserter(records), [](const TrackStep& step) {
    return step.tag == kMark || step.tag == kRange;
  });
  const auto key = [this](const TrackStep& step) {
    return std::tuple(has_range_tags_ && step.tag == kRange, step.index, step.time);
  };
  std::ranges::stable_sort(records,
                           [&](const TrackStep& a, const TrackStep& b) { return key(a) < key(b); });
  for (size_t i = 0; i < records.size();) {
    const TrackStep& begin = records[i];
    if (has_range_tags_ && begin.tag == kMark) {
      AddMark(begin, nullptr, marks);
      ++i;
      continue;
    }
    size_t last = i;
    while (last + 1 < records.size() && records[last + 1].index == begin.index &&
           records[last + 1].tag == begin.tag && (!has_range_tags_ || last == i)) {
      ++last;
    }
    if (has_range_tags_ && last == i) {
      rows_.issues.Add(kTaskUnpaired, "ts_track");
    } else {
      AddMark(begin, last == i ? nullptr : &records[last], marks);
    }
    i = last + 1;
  }
}

void StepTrace::AddMark(const TrackStep& begin, const TrackStep* end, const Marks& marks) {
  const Marks::Known* known = marks.Find(begin.index);
  ascend::DeviceTask task;
  task.ts = device_.clock().FromTicks(begin.time);
  task.dur = end == nullptr ? 0 : Span(begin.time, end->time);
  task.place = {
      .process_id = rows_.Process(pid_), .device_id = device_.device(), .stream_id = begin.stream};
  task.kind.name = known == nullptr ? rows_.names.Intern("N/A") : known->message;
  task.kind.task_type = rows_.names.Intern("MsTx");
  task.queue_number = begin.task;
  constexpr uint64_t kMost = uint64_t{1} << 40U;
  if (begin.index < kMost) {
    task.connection_id = kFirstConnection + static_cast<int64_t>(begin.index);
  }
  ascend::DeviceRows device(rows_);
  const int32_t index = device.AddTask(task);
  if (known == nullptr || known->slice == store::kNone) return;
  rows_.flows.push_back({.kind = rows_.names.Intern("user"),
                         .key = task.connection_id,
                         .slice_out = known->slice,
                         .slice_in = rows_.tasks[static_cast<size_t>(index)].slice_id});
}

// Of each model in the order of time: an iteration lasts from the begin of the model, or the end of
// the one before, to its own end. Steps that a program marks have both ends.
std::vector<StepTrace::Iteration> StepTrace::Iterations() const {
  std::vector<TrackStep> steps = device_.steps();
  std::ranges::stable_sort(steps, [](const TrackStep& a, const TrackStep& b) {
    return std::tie(a.model, a.time) < std::tie(b.model, b.time);
  });
  std::vector<Iteration> found;
  std::map<uint64_t, uint64_t> marked;  // begin, by number of the step
  Iteration open;
  bool is_open = false;
  for (const TrackStep& step : steps) {
    if (step.model != open.model) is_open = false;
    if (step.tag == kModelBegin) {
      const uint64_t index = step.model == open.model ? open.index + 1 : 1;
      open = {.model = step.model, .index = index, .begin = step.time};
      is_open = true;
    } else if (step.tag == kStepBegin) {
      marked[step.index] = step.time;
    } else if (step.tag == kStepEnd) {
      const auto begin = marked.find(step.index);
      if (begin == marked.end()) continue;
      found.push_back({step.model, step.index, begin->second, step.time});
      marked.erase(begin);
    } else if (!is_open) {
      continue;
    } else if (step.tag == kForward) {
      open.forward = step.time;
    } else if (step.tag == kBackward) {
      open.backward = step.time;
    } else if (step.tag == kModelEnd) {
      is_open = false;
    } else if (step.tag == kIterationEnd && step.time > open.begin) {
      open.end = step.time;
      found.push_back(open);
      open = {.model = step.model, .index = open.index + 1, .begin = step.time};
    }
  }
  std::ranges::stable_sort(found, {}, &Iteration::end);
  return found;
}

void StepTrace::AddIterations() {
  const std::vector<Iteration> all = Iterations();
  for (size_t i = 0; i < all.size(); ++i) {
    AddArguments(all, i, AddSlices(all[i]));
  }
}

// Returns that of the whole iteration.
int32_t StepTrace::AddSlices(const Iteration& iteration) {
  const std::string name = Concat("Step Trace ", std::to_string(iteration.model));
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kDeviceLayer,
                                     .name = name,
                                     .process_id = rows_.Process(pid_),
                                     .device_id = device_.device()});
  const auto add = [&](std::string_view text, uint64_t begin, uint64_t end,
                       std::string_view category) {
    return rows_.AddSlice(track, device_.clock().FromTicks(begin), Span(begin, end),
                          rows_.names.Intern(text), rows_.names.Intern(category));
  };
  const int32_t whole = add(Concat("Iteration ", std::to_string(iteration.index)), iteration.begin,
                            iteration.end, "step_trace");
  constexpr std::string_view kPart = "step_trace_part";
  if (iteration.backward == 0) return whole;
  if (iteration.forward != 0) add("FP_BP Time", iteration.forward, iteration.backward, kPart);
  add("Iteration Refresh", iteration.backward, iteration.end, kPart);
  return whole;
}

void StepTrace::AddArguments(const std::vector<Iteration>& all, size_t index, int32_t slice) {
  const Iteration& own = all[index];
  const Clock& clock = device_.clock();
  constexpr uint64_t kNsPerUs = 1000;
  const auto us = [](int64_t ns) {
    const std::string thousandths = std::to_string(1000 + static_cast<uint64_t>(ns) % kNsPerUs);
    return ns < 0 ? std::string("N/A")
                  : Concat(std::to_string(static_cast<uint64_t>(ns) / kNsPerUs), ".",
                           std::string_view(thousandths).substr(1));
  };
  const auto between = [&](uint64_t begin, uint64_t end) {
    return begin == 0 || end == 0 ? std::string("N/A") : us(Span(begin, end));
  };
  const auto moment = [&](uint64_t ticks) {
    return ticks == 0 ? std::string("N/A") : us(clock.FromTicks(ticks));
  };
  uint64_t before = 0;  // end of the last one that ended before this one's forward pass
  for (size_t i = index; i-- > 0 && own.forward != 0 && before == 0;) {
    if (all[i].end < own.forward) before = all[i].end;
  }
  const ascend::Argument arguments[] = {
      {"Iteration ID", std::to_string(own.index)},
      {"FP Start(us)", moment(own.forward), /*is_number=*/false},
      {"BP End(us)", moment(own.backward), /*is_number=*/false},
      {"FP to BP Time(us)", between(own.forward, own.backward), /*is_number=*/false},
      {"Iteration Refresh(us)", between(own.backward, own.end), /*is_number=*/false},
      {"Data Aug Bound(us)", between(before, own.forward), /*is_number=*/false},
      {"Model ID", std::to_string(own.model)}};
  ascend::DeviceRows(rows_).AddArguments(slice, arguments);
}

}  // namespace sonde::importers::raw

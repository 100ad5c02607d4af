// Finds the steps that contain a moment.
//
// A look-up costs a search among the steps, and a walk over those only that overlap there.
// Times: nanoseconds. Immutable; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sonde::importers {

class StepIndex {
 public:
  struct Span {
    int64_t begin;
    int64_t end;  // the last moment that belongs to it; before `begin`: none does
    int64_t number;
  };

  explicit StepIndex(const std::vector<Span>& spans) {
    int64_t place = 0;
    for (const Span& span : spans) {
      if (span.begin <= span.end) steps_.push_back({span, span.end, place});
      ++place;
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      return a.span.begin != b.span.begin ? a.span.begin < b.span.begin : a.place < b.place;
    });
    for (size_t i = 1; i < steps_.size(); ++i) {
      steps_[i].last_end = std::max(steps_[i].span.end, steps_[i - 1].last_end);
    }
  }

  // The first in the order in which they were given, -1 none.
  int64_t At(int64_t ts) const {
    const Step* found = nullptr;
    ForEachStep(ts, [&](const Step& step) {
      if (found == nullptr || step.place < found->place) found = &step;
    });
    return found == nullptr ? -1 : found->span.number;
  }

  // Calls take(place among those that were given) for each.
  template <class Take>
  void ForEach(int64_t ts, const Take& take) const {
    ForEachStep(ts, [&](const Step& step) { take(static_cast<size_t>(step.place)); });
  }

 private:
  struct Step {
    Span span;
    int64_t last_end;  // of this and all before
    int64_t place;
  };

  template <class Take>
  void ForEachStep(int64_t ts, const Take& take) const {
    const auto behind = std::upper_bound(steps_.begin(), steps_.end(), ts,
                                         [](int64_t t, const Step& s) { return t < s.span.begin; });
    auto step = std::lower_bound(steps_.begin(), behind, ts,
                                 [](const Step& s, int64_t t) { return s.last_end < t; });
    for (; step != behind; ++step) {
      if (step->span.end >= ts) take(*step);
    }
  }

  std::vector<Step> steps_;  // by begin
};

// Of rows with ts, dur and step_id: an end belongs to its step; an unfinished one contains nothing.
template <class Steps>
StepIndex IndexOfSteps(const Steps& steps) {
  std::vector<StepIndex::Span> spans;
  for (const auto& step : steps) {
    int64_t end = 0;
    const bool has_end = step.dur >= 0 && !__builtin_add_overflow(step.ts, step.dur, &end);
    if (has_end) spans.push_back({step.ts, end, step.step_id});
  }
  return StepIndex(spans);
}

}  // namespace sonde::importers

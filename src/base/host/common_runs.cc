#include "base/host/common_runs.h"

#include <algorithm>
#include <unordered_map>

namespace sonde::base {
namespace {

// Ranges of both sequences that are searched for a run.
struct Window {
  size_t a_begin = 0;
  size_t a_end = 0;
  size_t b_begin = 0;
  size_t b_end = 0;
};

class Matcher {
 public:
  Matcher(std::span<const int32_t> a, std::span<const int32_t> b, Popular popular)
      : a_(a), b_(b), widens_(popular == Popular::kBeginsNoRun) {
    for (size_t j = 0; j < b.size(); ++j) places_[b[j]].push_back(j);
    lengths_.assign(b.size() + 1, 0);
    next_lengths_.assign(b.size() + 1, 0);
    constexpr size_t kMany = 200;
    if (!widens_ || b.size() < kMany) return;
    std::erase_if(places_,
                  [&](const auto& entry) { return entry.second.size() > b.size() / 100 + 1; });
  }

  std::vector<CommonRun> Runs() {
    std::vector<CommonRun> runs;
    std::vector<Window> open = {{0, a_.size(), 0, b_.size()}};
    while (!open.empty()) {
      const Window window = open.back();
      open.pop_back();
      const CommonRun run = Longest(window);
      if (run.size == 0) continue;
      runs.push_back(run);
      if (window.a_begin < run.a && window.b_begin < run.b) {
        open.push_back({window.a_begin, run.a, window.b_begin, run.b});
      }
      const size_t a_end = run.a + run.size;
      const size_t b_end = run.b + run.size;
      if (a_end < window.a_end && b_end < window.b_end) {
        open.push_back({a_end, window.a_end, b_end, window.b_end});
      }
    }
    std::ranges::sort(runs, {}, &CommonRun::a);
    return runs;
  }

 private:
  CommonRun Longest(const Window& window) {
    CommonRun best{window.a_begin, window.b_begin, 0};
    touched_.clear();
    for (size_t i = window.a_begin; i < window.a_end; ++i) {
      next_touched_.clear();
      if (const auto found = places_.find(a_[i]); found != places_.end()) {
        Extend(window, i, found->second, best);
      }
      for (const size_t at : touched_) lengths_[at] = 0;
      lengths_.swap(next_lengths_);
      touched_.swap(next_touched_);
    }
    for (const size_t at : touched_) lengths_[at] = 0;
    if (widens_) Widen(window, best);
    return best;
  }

  // Runs that end at a[i]; lengths_[j + 1] is that of the run which ends at b[j].
  void Extend(const Window& window, size_t i, const std::vector<size_t>& places, CommonRun& best) {
    for (const size_t j : places) {
      if (j < window.b_begin) continue;
      if (j >= window.b_end) break;
      const size_t length = (j > window.b_begin ? lengths_[j] : 0) + 1;
      next_lengths_[j + 1] = length;
      next_touched_.push_back(j + 1);
      if (length > best.size) best = {i + 1 - length, j + 1 - length, length};
    }
  }

  // Extends a run by equal elements that may not begin one.
  void Widen(const Window& window, CommonRun& run) const {
    while (run.a > window.a_begin && run.b > window.b_begin && a_[run.a - 1] == b_[run.b - 1]) {
      --run.a;
      --run.b;
      ++run.size;
    }
    while (run.a + run.size < window.a_end && run.b + run.size < window.b_end &&
           a_[run.a + run.size] == b_[run.b + run.size]) {
      ++run.size;
    }
  }

  std::span<const int32_t> a_;
  std::span<const int32_t> b_;
  bool widens_;
  std::unordered_map<int32_t, std::vector<size_t>> places_;  // in b
  std::vector<size_t> lengths_;
  std::vector<size_t> next_lengths_;
  std::vector<size_t> touched_;
  std::vector<size_t> next_touched_;
};

}  // namespace

std::vector<CommonRun> CommonRuns(std::span<const int32_t> a, std::span<const int32_t> b,
                                  Popular popular) {
  if (std::ranges::equal(a, b)) {
    return a.empty() ? std::vector<CommonRun>() : std::vector<CommonRun>{{0, 0, a.size()}};
  }
  return Matcher(a, b, popular).Runs();
}

}  // namespace sonde::base

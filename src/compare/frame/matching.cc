#include "compare/frame/matching.h"

#include <algorithm>

namespace sonde::compare {
namespace {

struct Run {
  size_t base = 0;
  size_t comparison = 0;
  size_t size = 0;
};

struct Piece {
  size_t base_begin = 0;
  size_t base_end = 0;
  size_t comparison_begin = 0;
  size_t comparison_end = 0;
};

class Matcher {
 public:
  Matcher(std::span<const int32_t> base, std::span<const int32_t> comparison)
      : base_(base), comparison_(comparison) {
    for (size_t j = 0; j < comparison.size(); ++j) places_[comparison[j]].push_back(j);
    lengths_.assign(comparison.size() + 1, 0);
    next_lengths_.assign(comparison.size() + 1, 0);
  }

  std::vector<Run> Runs() {
    std::vector<Run> runs;
    std::vector<Piece> open = {{0, base_.size(), 0, comparison_.size()}};
    while (!open.empty()) {
      const Piece piece = open.back();
      open.pop_back();
      const Run run = Longest(piece);
      if (run.size == 0) continue;
      runs.push_back(run);
      if (piece.base_begin < run.base && piece.comparison_begin < run.comparison) {
        open.push_back({piece.base_begin, run.base, piece.comparison_begin, run.comparison});
      }
      const size_t base_end = run.base + run.size;
      const size_t comparison_end = run.comparison + run.size;
      if (base_end < piece.base_end && comparison_end < piece.comparison_end) {
        open.push_back({base_end, piece.base_end, comparison_end, piece.comparison_end});
      }
    }
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.base < b.base; });
    return runs;
  }

 private:
  // The longest run in a piece; of several the first in the base, then in the comparison.
  Run Longest(const Piece& piece) {
    Run best{piece.base_begin, piece.comparison_begin, 0};
    touched_.clear();
    for (size_t i = piece.base_begin; i < piece.base_end; ++i) {
      next_touched_.clear();
      if (const auto found = places_.find(base_[i]); found != places_.end()) {
        Extend(piece, i, found->second, best);
      }
      for (const size_t at : touched_) lengths_[at] = 0;
      lengths_.swap(next_lengths_);
      touched_.swap(next_touched_);
    }
    for (const size_t at : touched_) lengths_[at] = 0;
    return best;
  }

  // Runs that end at base[i]; lengths_[j + 1] is that of the run which ends at comparison[j].
  void Extend(const Piece& piece, size_t i, const std::vector<size_t>& places, Run& best) {
    for (const size_t j : places) {
      if (j < piece.comparison_begin) continue;
      if (j >= piece.comparison_end) break;
      const size_t length = (j > piece.comparison_begin ? lengths_[j] : 0) + 1;
      next_lengths_[j + 1] = length;
      next_touched_.push_back(j + 1);
      if (length > best.size) best = {i + 1 - length, j + 1 - length, length};
    }
  }

  std::span<const int32_t> base_;
  std::span<const int32_t> comparison_;
  std::unordered_map<int32_t, std::vector<size_t>> places_;  // in the comparison
  std::vector<size_t> lengths_;
  std::vector<size_t> next_lengths_;
  std::vector<size_t> touched_;
  std::vector<size_t> next_touched_;
};

void AddAlone(size_t& base, size_t base_end, size_t& comparison, size_t comparison_end,
              std::vector<PlacePair>& pairs) {
  for (; base < base_end; ++base) pairs.emplace_back(static_cast<int32_t>(base), kNobody);
  for (; comparison < comparison_end; ++comparison) {
    pairs.emplace_back(kNobody, static_cast<int32_t>(comparison));
  }
}

}  // namespace

std::vector<PlacePair> MatchSequences(std::span<const int32_t> base,
                                      std::span<const int32_t> comparison) {
  std::vector<PlacePair> pairs;
  std::vector<Run> runs;
  if (std::equal(base.begin(), base.end(), comparison.begin(), comparison.end())) {
    runs.push_back({0, 0, base.size()});
  } else {
    runs = Matcher(base, comparison).Runs();
  }
  size_t i = 0;
  size_t j = 0;
  for (const Run& run : runs) {
    AddAlone(i, run.base, j, run.comparison, pairs);
    for (size_t k = 0; k < run.size; ++k) {
      pairs.emplace_back(static_cast<int32_t>(i++), static_cast<int32_t>(j++));
    }
  }
  AddAlone(i, base.size(), j, comparison.size(), pairs);
  return pairs;
}

std::vector<PlacePair> MatchNothing(size_t base_size, size_t comparison_size) {
  std::vector<PlacePair> pairs;
  size_t i = 0;
  size_t j = 0;
  AddAlone(i, base_size, j, comparison_size, pairs);
  return pairs;
}

}  // namespace sonde::compare

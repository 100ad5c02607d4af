#include "recipes/slow_rank/excess.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "recipes/slow_rank/others.h"

namespace sonde::recipes::slow_rank {
namespace {

constexpr double kDeviationOfMad = 1.4826;
constexpr double kMedianStepShare = 0.6;

// Of each rank: how far it lies from the others, and how far these lie apart.
struct Standing {
  double share = 0;
  double spread = 0;
};

std::vector<Standing> StandingsOf(const std::vector<double>& values) {
  std::vector<Standing> standings(values.size());
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  // In order, by the median that they are from: of the others of each rank it is one of few.
  std::map<double, std::vector<double>> deviations;
  for (size_t rank = 0; rank < values.size(); ++rank) {
    const double median = MedianWithout(sorted, values[rank]);
    if (median <= 0) continue;
    std::vector<double>& from_median = deviations[median];
    if (from_median.empty()) {
      for (const double value : values) from_median.push_back(std::fabs(value - median));
      std::ranges::sort(from_median);
    }
    const double deviation = MedianWithout(from_median, std::fabs(values[rank] - median));
    standings[rank] = {(values[rank] - median) / median, kDeviationOfMad * deviation / median};
  }
  return standings;
}

// How much the shares vary from step to step, whether or not they rise once or are high at times:
// of two measures the one that the rise, or the times, leave alone.
double SpreadOverSteps(const std::vector<double>& shares) {
  if (shares.size() < 3) return 0;
  const double median = MedianOf(shares);
  std::vector<double> from_median;
  std::vector<double> between;
  for (size_t step = 0; step < shares.size(); ++step) {
    from_median.push_back(std::fabs(shares[step] - median));
    if (step > 0) between.push_back(std::fabs(shares[step] - shares[step - 1]));
  }
  return kDeviationOfMad * std::min(MedianOf(from_median), MedianOf(between) / std::numbers::sqrt2);
}

struct Rank {
  std::vector<double> shares;  // by step
  std::vector<bool> is_slow;
  double mean = 0;
};

double MeanOf(const std::vector<double>& values, size_t begin, size_t end) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                         values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
         static_cast<double>(end - begin);
}

// The first step of those that are slow from then on; 0 where it has always been so.
size_t SinceOf(const std::vector<double>& shares, double limit) {
  const size_t n = shares.size();
  size_t best = 0;
  double most = 0;
  for (size_t at = 1; at < n; ++at) {
    const double before = MeanOf(shares, 0, at);
    const double after = MeanOf(shares, at, n);
    const double weight = std::sqrt(static_cast<double>(at) * static_cast<double>(n - at));
    if (after < limit || before > kBeforeShare * after || (after - before) * weight <= most) {
      continue;
    }
    most = (after - before) * weight;
    best = at;
  }
  return best;
}

bool IsSlowFrom(const std::vector<bool>& is_slow, size_t begin) {
  const auto count =
      std::count(is_slow.begin() + static_cast<std::ptrdiff_t>(begin), is_slow.end(), true);
  return 4 * static_cast<size_t>(count) >= 3 * (is_slow.size() - begin);
}

// From which step on it is, and was not before; 0: there is none.
size_t BeginOf(const Rank& rank, double limit) {
  const size_t since = SinceOf(rank.shares, limit);
  // Of one step alone at the end nobody knows whether it goes on.
  return since + 1 < rank.shares.size() && IsSlowFrom(rank.is_slow, since) ? since : 0;
}

bool IsSlowAtTimes(const Rank& rank, double limit) {
  if (BeginOf(rank, limit) > 0) return true;
  constexpr size_t kSome = 3;
  double sum = 0;
  size_t count = 0;
  for (size_t step = 0; step < rank.shares.size(); ++step) {
    if (!rank.is_slow[step]) continue;
    sum += rank.shares[step];
    ++count;
  }
  const double least = count >= kSome ? kSumShare : kFewShare;
  return count > 0 && sum >= least * static_cast<double>(rank.shares.size());
}

// Of the steps in which it is not slow by itself: noise hides it in some.
double MeanOfOthers(const Rank& rank) {
  double sum = 0;
  size_t count = 0;
  for (size_t step = 0; step < rank.shares.size(); ++step) {
    if (rank.is_slow[step]) continue;
    sum += rank.shares[step];
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

void SetSteps(const Rank& rank, bool is_always, double limit, Excess& excess) {
  const size_t since = BeginOf(rank, limit);
  const size_t count = rank.shares.size();
  const bool is_whole =
      is_always && (IsSlowFrom(rank.is_slow, 0) || MeanOfOthers(rank) >= limit / 2);
  excess.is_steady = since > 0 || is_whole;
  for (size_t step = since; step < count; ++step) {
    if (excess.is_steady || rank.is_slow[step]) excess.steps.push_back(step);
  }
}

// Each rank compared with the others in each step.
std::vector<Rank> JudgeSteps(const std::vector<std::vector<double>>& values) {
  const size_t count = values.size();
  const size_t steps = values.front().size();
  std::vector<Rank> ranks(count);
  std::vector<std::vector<double>> spreads(count);
  std::vector<double> column(count);
  for (size_t step = 0; step < steps; ++step) {
    for (size_t rank = 0; rank < count; ++rank) column[rank] = values[rank][step];
    const auto standings = StandingsOf(column);
    for (size_t rank = 0; rank < count; ++rank) {
      ranks[rank].shares.push_back(standings[rank].share);
      spreads[rank].push_back(standings[rank].spread);
    }
  }
  for (size_t rank = 0; rank < count; ++rank) {
    const double over_steps = count == 2 ? SpreadOverSteps(ranks[rank].shares) : 0;
    for (size_t step = 0; step < steps; ++step) {
      const double limit = ExcessLimit(count * steps, std::max(spreads[rank][step], over_steps));
      ranks[rank].is_slow.push_back(ranks[rank].shares[step] >= limit);
    }
  }
  return ranks;
}

}  // namespace

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double ExcessLimit(size_t count, double spread) {
  const double z = 2.95 + 0.24 * std::log(static_cast<double>(count));
  return std::max(kExcessShare, z * std::max(spread, kSpreadFloor));
}

std::vector<Excess> FindExcesses(const std::vector<std::vector<double>>& values) {
  const size_t count = values.size();
  if (count < 2 || values.front().empty()) return {};
  const size_t steps = values.front().size();
  const std::vector<Rank> ranks = JudgeSteps(values);
  std::vector<double> column(count);
  for (size_t rank = 0; rank < count; ++rank) {
    column[rank] = std::accumulate(values[rank].begin(), values[rank].end(), 0.0);
  }
  std::vector<Standing> standings = StandingsOf(column);
  if (count == 2) {
    for (size_t rank = 0; rank < count; ++rank) {
      standings[rank].spread =
          SpreadOverSteps(ranks[rank].shares) / std::sqrt(static_cast<double>(steps));
    }
  }
  std::vector<Excess> found;
  for (size_t place = 0; place < count; ++place) {
    const Rank& rank = ranks[place];
    const double limit = ExcessLimit(count, standings[place].spread);
    // Of one step that took much longer the mean is above the limit, too.
    const bool is_always = standings[place].share >= limit &&
                           MedianOf(rank.shares) >= kMedianStepShare * standings[place].share;
    if (!is_always && !IsSlowAtTimes(rank, limit)) continue;
    Excess excess{.place = place, .share = standings[place].share};
    SetSteps(rank, is_always, limit, excess);
    if (excess.steps.empty()) continue;
    excess.share = 0;
    for (const size_t step : excess.steps) {
      const double share = rank.shares[step] / static_cast<double>(excess.steps.size());
      excess.share += share;
      if (rank.shares[step] > 0) ++excess.slower_count;
      // A rank without work in a step (one that was cut off) has a share of -1, and no usual value.
      const double of_usual = 1 + rank.shares[step];
      if (of_usual > 0) excess.value += share * values[place][step] / of_usual;
    }
    found.push_back(std::move(excess));
  }
  return found;
}

}  // namespace sonde::recipes::slow_rank

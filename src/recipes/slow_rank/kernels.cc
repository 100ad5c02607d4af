#include "recipes/slow_rank/kernels.h"

#include <algorithm>
#include <set>

#include "recipes/slow_rank/outliers.h"

namespace sonde::recipes::slow_rank {
namespace {

using ByShapes = std::map<std::string_view, TaskSum>;

const ByShapes& KernelsOf(const RankSums& rank, std::string_view name) {
  static const ByShapes none;
  const auto found = rank.kernels.find(name);
  return found == rank.kernels.end() ? none : found->second;
}

TaskSum Find(const ByShapes& list, std::string_view shapes) {
  const auto found = list.find(shapes);
  return found == list.end() ? TaskSum{} : found->second;
}

TaskSum Total(const ByShapes& list) {
  TaskSum total;
  for (const auto& [shapes, sum] : list) {
    total.count += sum.count;
    total.ns += sum.ns;
  }
  return total;
}

double ElementsOfAll(const ByShapes& list) {
  double elements = 0;
  for (const auto& [shapes, sum] : list) elements += sum.count * ElementsOf(shapes);
  return elements;
}

std::string_view LongestShapes(const ByShapes& list) {
  const auto longest = std::max_element(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.second.ns < b.second.ns;
  });
  return longest == list.end() ? std::string_view() : longest->first;
}

class Sharing {
 public:
  Sharing(const RankSums& own, const std::vector<RankSums>& others) : own_(own), others_(others) {}

  KernelShare Of(std::string_view name) const {
    const ByShapes& own = KernelsOf(own_, name);
    const auto median = [&](const auto& get) {
      return MedianOf(others_, [&](const RankSums& rank) { return get(KernelsOf(rank, name)); });
    };
    KernelShare share{.name = name,
                      .own_count = Total(own).count,
                      .count = median([](const ByShapes& list) { return Total(list).count; })};
    const double ns = Total(own).ns - median([](const ByShapes& list) { return Total(list).ns; });
    double most = 0;
    for (const auto& [shapes, sum] : own) AddShapes(name, shapes, sum, most, share);
    if (share.common == 0) AddByElements(name, own, share);
    share.more_ns = ns - share.slower_ns;
    if (share.shapes.empty()) SetLargest(name, own, share);
    return share;
  }

  void SetLargest(std::string_view name, const ByShapes& own, KernelShare& share) const {
    share.shapes = LongestShapes(own);
    share.ts = Find(own, share.shapes).ts;
    if (!others_.empty()) share.shapes_of_others = LongestShapes(KernelsOf(others_.front(), name));
  }

 private:
  // Calls of shapes that most of the others have, too.
  void AddShapes(std::string_view name, std::string_view shapes, const TaskSum& sum, double& most,
                 KernelShare& share) const {
    std::vector<double> per_call;
    std::vector<double> counts;
    for (const RankSums& rank : others_) {
      const TaskSum other = Find(KernelsOf(rank, name), shapes);
      counts.push_back(other.count);
      if (other.count > 0) per_call.push_back(other.PerCall());
    }
    const double common = std::min(sum.count, counts.empty() ? 0 : MedianOf(counts));
    if (common <= 0 || per_call.empty()) return;
    const double median = MedianOf(per_call);
    const double slower = common * (sum.PerCall() - median);
    share.slower_ns += slower;
    share.common_ns += common * median;
    if (share.common > 0 && slower <= most) return;
    most = slower;
    share.shapes = shapes;
    share.common = common;
    share.own_per_call = sum.PerCall();
    share.per_call = median;
    share.ts = sum.ts;
  }

  // Where shapes differ in every call, as those of experts do.
  void AddByElements(std::string_view name, const ByShapes& own, KernelShare& share) const {
    const double elements = ElementsOfAll(own);
    std::vector<double> rates;
    for (const RankSums& rank : others_) {
      const ByShapes& list = KernelsOf(rank, name);
      const double of_other = ElementsOfAll(list);
      if (of_other > 0) rates.push_back(Total(list).ns / of_other);
    }
    if (elements <= 0 || rates.empty()) return;
    const double rate = MedianOf(rates);
    share.slower_ns = Total(own).ns - elements * rate;
    share.common_ns = elements * rate;
    share.own_per_call = Total(own).PerCall();
    share.per_call = share.own_per_call * share.common_ns / Total(own).ns;
    share.common = share.own_count;
  }

  const RankSums& own_;
  const std::vector<RankSums>& others_;
};

}  // namespace

KernelShares ShareKernels(const RankSums& own, const std::vector<RankSums>& others) {
  std::set<std::string_view> names;
  for (const auto& [name, shapes] : own.kernels) names.insert(name);
  for (const RankSums& rank : others) {
    for (const auto& [name, shapes] : rank.kernels) names.insert(name);
  }
  const Sharing sharing(own, others);
  KernelShares all;
  for (const std::string_view name : names) {
    const KernelShare share = sharing.Of(name);
    all.slower_ns += share.slower_ns;
    all.more_ns += share.more_ns;
    all.common_ns += share.common_ns;
    if (share.slower_ns > all.slowest.slower_ns) all.slowest = share;
    if (share.more_ns > all.most.more_ns) {
      all.most = share;
      sharing.SetLargest(name, KernelsOf(own, name), all.most);
    }
  }
  return all;
}

}  // namespace sonde::recipes::slow_rank

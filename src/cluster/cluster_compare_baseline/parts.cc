#include "cluster/cluster_compare_baseline/parts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/host/json.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/facts.h"
#include "recipes/communication/naming.h"
#include "recipes/intervals.h"

namespace sonde::cluster {
namespace {

using recipes::Interval;
using recipes::TraceData;

struct Group {
  std::string kind;
  int64_t ranks = 0;
};
using Groups = std::map<uint64_t, Group>;

Groups GroupsOf(const TraceData& data) {
  Groups groups;
  for (const recipes::CommunicationGroup& known : data.groups) {
    Group& group = groups[known.hash];
    if (known.description != store::kNone) group.kind = data.Name(known.description);
    const auto list = base::JsonDocument::Parse(known.rank_list, "rank_list");
    if (list.ok()) group.ranks = static_cast<int64_t>(list->root().Elements().size());
  }
  return groups;
}

struct Step {
  int64_t number = -1;
  Interval time;
};

std::vector<Step> StepsOf(const RankInput& rank) {
  const TraceData& data = rank.data();
  std::vector<Step> steps;
  for (const store::StepRow& step : data.steps) {
    const int64_t end = step.dur < 0 ? data.last_ns : step.ts + step.dur;
    const bool is_wanted = rank.options.step_id < 0 || rank.options.step_id == step.step_id;
    if (is_wanted && end > step.ts) steps.push_back({step.step_id, {step.ts, end}});
  }
  if (data.steps.empty()) steps.push_back({-1, {data.first_ns, data.last_ns}});
  return steps;
}

using ByPart = std::map<std::string, std::vector<Interval>>;

// Communication by the kind of its group, merged.
ByPart Communicating(const RankInput& rank, const Groups& groups) {
  ByPart parts;
  for (const store::CommunicationOpRow& op : rank.data().communications) {
    const auto group = groups.find(static_cast<uint64_t>(op.group_hash));
    const bool is_known = group != groups.end() && !group->second.kind.empty();
    parts[is_known ? group->second.kind : std::string(kOtherGroups)].push_back(
        {op.ts, rank.view.EndNs(op)});
  }
  for (auto& [name, list] : parts) list = recipes::Merge(std::move(list));
  return parts;
}

std::vector<Interval> Kernels(const RankInput& rank) {
  const TraceData& data = rank.data();
  std::vector<Interval> kernels;
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (!IsComputing(data, data.kinds[static_cast<size_t>(task.kind_id)])) continue;
    kernels.push_back({task.ts, task.ts + std::max<int64_t>(task.dur, 0)});
  }
  return recipes::Merge(std::move(kernels));
}

std::vector<Interval> Within(const std::vector<Interval>& merged, const Interval& step) {
  std::vector<Interval> inside;
  for (const Interval& one : merged) {
    const Interval cut{std::max(one.start_ns, step.start_ns), std::min(one.end_ns, step.end_ns)};
    if (cut.start_ns < cut.end_ns) inside.push_back(cut);
  }
  return inside;
}

void AddSteps(const RankInput& rank, const Groups& groups, Part& part) {
  const ByPart communicating = Communicating(rank, groups);
  const std::vector<Interval> kernels = Kernels(rank);
  if (kernels.empty() && communicating.empty()) return;
  size_t place = 0;
  for (const Step& step : StepsOf(rank)) {
    const auto add = [&](std::string_view name, int64_t ns) {
      part.Rows<StepPart>().push_back(
          {.step = step.number, .place = place, .part = std::string(name), .ns = ns});
    };
    const int64_t length = step.time.end_ns - step.time.start_ns;
    const auto computing = Within(kernels, step.time);
    add(kStepPart, length);
    add(kComputingPart, recipes::TotalNs(computing));
    std::vector<Interval> busy = computing;
    for (const auto& [name, list] : communicating) {
      const auto inside = Within(list, step.time);
      add(name, recipes::TotalNs(recipes::Subtract(inside, computing)));
      busy = recipes::Unite(busy, inside);
    }
    add(kFreePart, length - recipes::TotalNs(busy));
    ++place;
  }
}

void AddCollectives(const RankInput& rank, const Groups& groups, Part& part) {
  const TraceData& data = rank.data();
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, CollectiveSum> sums;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (rank.view.communications[i].is_p2p || !rank.window.Has(op.ts)) continue;
    const auto group = groups.find(static_cast<uint64_t>(op.group_hash));
    const bool is_known = group != groups.end() && !group->second.kind.empty();
    std::string type = CommunicationTypeOf(rank.view, i);  // hcom_allReduce_
    if (type.starts_with("hcom_") && type.ends_with('_')) type = type.substr(5, type.size() - 6);
    std::string name(is_known ? group->second.kind : kOtherGroups);
    std::string data_type(data.Name(op.data_type));
    CollectiveSum& sum = sums[{name, type, data_type, op.count}];
    sum.group = std::move(name);
    sum.kind = std::move(type);
    sum.data_type = std::move(data_type);
    sum.elements = op.count;
    const int64_t listed = group == groups.end() ? 0 : group->second.ranks;
    sum.ranks = std::max({sum.ranks, listed, static_cast<int64_t>(op.rank_size)});
    const int64_t computed = rank.view.waits_ns.empty() ? 0 : rank.view.waits_ns[i];
    const int64_t wait = op.wait_ns >= 0 ? op.wait_ns : computed;  //  as the profiler measured it
    const int64_t dur = rank.view.EndNs(op) - op.ts;
    sum.ns += dur - std::clamp<int64_t>(wait, 0, dur);
    ++sum.count;
  }
  for (auto& [key, sum] : sums) part.Rows<CollectiveSum>().push_back(std::move(sum));
}

}  // namespace

Status MapParts(const RankInput& rank, Part& part) {
  const Groups groups = GroupsOf(rank.data());
  AddSteps(rank, groups, part);
  AddCollectives(rank, groups, part);
  if (!rank.view.waits_ns.empty()) MapCollectives(rank, part);
  return {};
}

}  // namespace sonde::cluster

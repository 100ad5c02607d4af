#include <algorithm>
#include <map>
#include <tuple>

#include "advisor/ranks/ranks.h"
#include "base/strings.h"
#include "cluster/slow_rank/reasons.h"
#include "compare/frame/sheet.h"

namespace sonde::advisor {
namespace {

using base::Concat;
using compare::Round;

constexpr int kDigits = 3;

std::string Rounded(double value) { return base::PythonDoubleText(Round(value, kDigits)); }

struct Kind {
  std::string_view english;
  std::string_view chinese;
  double StepOfRank::* us;
};
constexpr Kind kKinds[] = {
    {"Computing", "计算", &StepOfRank::compute_us},
    {"Communication", "通信", &StepOfRank::communication_us},
    {"Free", "空闲", &StepOfRank::free_us},
};

std::string SentenceOf(const Kind& kind, double gap_ms, Language language) {
  if (language == Language::kChinese) {
    return Concat("集群中的", kind.chinese, "有问题， \n因为", kind.chinese,
                  "时间的最大差距已经达到 \n", Rounded(gap_ms), "ms。 \n");
  }
  return Concat(kind.english,
                " \n    has some issues in the cluster, \n    because the max "
                "difference of ",
                kind.english, " time \n    has reached ", Rounded(gap_ms), "ms. \n");
}

double LimitOf(const Rule& rule, std::string_view name) {
  for (const RuleLimit& limit : rule.limits) {
    if (limit.name == name) return base::ParseDouble(limit.value).value_or(0);
  }
  return 0;
}

std::string LinkSentence(std::string_view link, const std::vector<double>& gbps,
                         Language language) {
  double sum = 0;
  for (const double one : gbps) sum += one;
  const double most = *std::max_element(gbps.begin(), gbps.end());
  const double least = *std::min_element(gbps.begin(), gbps.end());
  // A link that nobody used is written as the whole number.
  const auto written = [&](double value) { return most == 0 ? std::string("0") : Rounded(value); };
  const std::string mean = Rounded(sum / static_cast<double>(gbps.size()));
  if (language == Language::kChinese) {
    return Concat(link, " bandwidth(GB/s)： \n    平均值是 ", mean, "， \n    但最大值是 ",
                  written(most), "GB/s ，\n    最小值是 ", written(least), "GB/s。\n    差距为 ",
                  written(most - least), "GB/s。 \n");
  }
  return Concat(link, " bandwidth(GB/s): \n    The average is ", mean,
                ", \n    while the maximum  is ", written(most), "GB/s \n    and the minimum is ",
                written(least), "GB/s. \n    the difference is ", written(most - least),
                "GB/s. \n");
}

}  // namespace

Found SlowRank(const Rule& rule, const Ranks& ranks, Language language) {
  Found found;
  if (ranks.steps.empty()) return found;
  double total_us = 0;
  for (const StepOfRank& step : ranks.steps) total_us += step.TotalUs();
  const double mean_us = total_us / static_cast<double>(ranks.steps.size());
  std::string sentences;
  double largest_us = 0;
  double gain_us = 0;
  for (const Kind& kind : kKinds) {
    double sum_us = 0;
    double most_us = ranks.steps.front().*kind.us;
    double least_us = most_us;
    for (const StepOfRank& step : ranks.steps) {
      sum_us += step.*kind.us;
      most_us = std::max(most_us, step.*kind.us);
      least_us = std::min(least_us, step.*kind.us);
    }
    if (mean_us <= 0 || (most_us - least_us) / mean_us <= LimitOf(rule, "least_gap")) continue;
    sentences += SentenceOf(kind, (most_us - least_us) / 1e3, language);
    largest_us = std::max(largest_us, most_us - least_us);
    gain_us = std::max(gain_us, most_us - sum_us / static_cast<double>(ranks.steps.size()));
  }
  const bool is_quiet = sentences.empty();
  const bool has_cause = std::ranges::any_of(ranks.outcome.findings, &cluster::NamesCause);
  found.is_for_files = is_quiet && has_cause;  // slow_rank_cause reports which rank and why
  if (is_quiet) {
    sentences = language == Language::kChinese ? "没有慢节点问题" : "There is no slow rank issues";
  }
  found.facts = {{"fires", int64_t{1}},
                 {"occurrences", static_cast<int64_t>(ranks.steps.size())},
                 {"sentences", sentences}};
  if (!is_quiet && has_cause) {  // ranks that differ within what healthy ones do gain nothing
    found.facts["total_us"] = largest_us;
    found.facts["gain_us"] = gain_us;
  }
  AdviceSheet& sheet = found.sheets.emplace_back();
  sheet.columns = {"step", "rank_id", "compute(us)", "communication(us)", "free(us)"};
  for (const StepOfRank& step : ranks.steps) {
    sheet.rows.push_back(
        {step.step, step.rank, step.compute_us, step.communication_us, step.free_us});
  }
  return found;
}

// The mode's findings about slow ranks, one sentence for each cause; empty where there is none.
Found SlowRankCause(const Ranks& ranks, Language language) {
  Found found;
  std::vector<std::string> sentences;
  for (const recipes::Finding& finding : ranks.outcome.findings) {
    if (!cluster::NamesCause(finding)) continue;
    sentences.push_back(recipes::TextOf(finding, language));
  }
  if (sentences.empty()) return found;
  found.facts = {{"fires", int64_t{1}},
                 {"occurrences", static_cast<int64_t>(sentences.size())},
                 {"sentences", base::Join(sentences, " \n")}};
  return found;
}

Found SlowLink(const Ranks& ranks, Language language) {
  Found found;
  if (ranks.links.empty()) return found;
  std::vector<double> remote;
  std::vector<double> near;
  constexpr int kLinkDigits = 4;
  AdviceSheet& sheet = found.sheets.emplace_back();
  sheet.columns = {"step",          "rank_id",       "RDMA bandwidth(GB/s)",
                   "RDMA size(mb)", "RDMA time(ms)", "SDMA bandwidth(GB/s)",
                   "SDMA size(mb)", "SDMA time(ms)"};
  for (const LinkOfRank& link : ranks.links) {
    remote.push_back(Round(link.RdmaGbps(), kLinkDigits));
    near.push_back(Round(link.SdmaGbps(), kLinkDigits));
    sheet.rows.push_back({link.step, link.rank, remote.back(), link.rdma_mb, link.rdma_ms,
                          near.back(), link.sdma_mb, link.sdma_ms});
  }
  found.facts = {
      {"fires", int64_t{1}},
      {"occurrences", static_cast<int64_t>(ranks.links.size())},
      {"sentences", LinkSentence("RDMA", remote, language) + LinkSentence("SDMA", near, language)}};
  return found;
}

Found Retransmission(const Rule& rule, const Ranks& ranks) {
  const double limit_ms = LimitOf(rule, "least_ms");
  std::map<std::tuple<std::string, std::string, int64_t>, std::vector<const OpOfRank*>> by_op;
  for (const OpOfRank& op : ranks.ops) by_op[{op.group, op.name, op.step}].push_back(&op);
  Found found;
  AdviceSheet sheet;
  sheet.columns = {
      "Communication group",    "Op name",       "Step id", "Rank id", "RDMA transmit size(MB)",
      "RDMA transmit time(ms)", "RDMA bandwidth"};
  std::map<std::string, int> groups;
  double total_us = 0;
  for (const auto& [key, ops] : by_op) {
    const auto least = *std::min_element(ops.begin(), ops.end(), [](const auto* a, const auto* b) {
      return a->elapsed_ms < b->elapsed_ms;
    });
    if (least->elapsed_ms < limit_ms) continue;
    for (const OpOfRank* op : ops) {
      if (op->rdma_mb <= 0 || op->rdma_ms <= limit_ms) continue;
      ++groups[op->group];
      total_us += op->rdma_ms * 1e3;
      sheet.rows.push_back(
          {op->group, op->name, op->step, op->rank, op->rdma_mb, op->rdma_ms, op->rdma_gbps});
    }
  }
  found.facts = {{"occurrences", static_cast<int64_t>(sheet.rows.size())},
                 {"groups", static_cast<int64_t>(groups.size())},
                 {"total_us", total_us},
                 {"gain_us", total_us}};
  if (!sheet.rows.empty()) found.sheets.push_back(std::move(sheet));
  return found;
}

}  // namespace sonde::advisor

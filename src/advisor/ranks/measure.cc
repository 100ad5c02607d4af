#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "advisor/ranks/ranks.h"
#include "base/strings.h"
#include "cluster/base/base.h"
#include "cluster/slow_rank/reasons.h"

namespace sonde::advisor {
namespace {

using cluster::Table;

// Cells of a table by the names of its columns.
class RankReader {
 public:
  explicit RankReader(const Table& table) : table_(table) {}
  std::string Text(size_t row, std::string_view column) const {
    const auto* text = std::get_if<std::string>(&At(row, column));
    if (text != nullptr) return *text;
    const auto* number = std::get_if<int64_t>(&At(row, column));
    return number == nullptr ? "" : std::to_string(*number);
  }
  double Number(size_t row, std::string_view column) const {
    const auto* real = std::get_if<double>(&At(row, column));
    if (real != nullptr) return *real;
    const auto* number = std::get_if<int64_t>(&At(row, column));
    return number == nullptr ? 0 : static_cast<double>(*number);
  }

 private:
  const cluster::Cell& At(size_t row, std::string_view column) const {
    static const cluster::Cell nothing;
    const auto& columns = table_.info().result.columns;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == column) return table_.At(row, i);
    }
    return nothing;
  }
  const Table& table_;
};

// 50 of "step50" and of "50".
int64_t StepNumber(std::string_view text) {
  if (text.starts_with("step")) text.remove_prefix(4);
  return base::ParseInt64(text).value_or(-1);
}

void TakeSteps(const Table& table, Ranks& ranks) {
  const RankReader reader(table);
  for (size_t row = 0; row < table.rows(); ++row) {
    if (reader.Text(row, "type") != "rank") continue;
    ranks.steps.push_back({.step = StepNumber(reader.Text(row, "step")),
                           .rank = base::ParseInt64(reader.Text(row, "index")).value_or(-1),
                           .compute_us = reader.Number(row, "computing_us"),
                           .communication_us = reader.Number(row, "not_overlapped_us"),
                           .free_us = reader.Number(row, "free_us")});
  }
  std::stable_sort(ranks.steps.begin(), ranks.steps.end(), [](const auto& a, const auto& b) {
    return std::pair(a.step, a.rank) < std::pair(b.step, b.rank);
  });
}

using OpKey = std::tuple<int64_t, int64_t, std::string, std::string>;  // step, rank, group, name

void TakeLinks(const Table& table, std::map<OpKey, OpOfRank>& ops, Ranks& ranks) {
  const RankReader reader(table);
  std::map<std::pair<int64_t, int64_t>, LinkOfRank> links;
  std::set<std::pair<OpKey, std::string>> seen;  // a row stands for each size of packets
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string link = reader.Text(row, "link");
    const OpKey key(StepNumber(reader.Text(row, "step")),
                    base::ParseInt64(reader.Text(row, "rank")).value_or(-1),
                    reader.Text(row, "group_hash"), reader.Text(row, "op_name"));
    LinkOfRank& sums = links[{std::get<0>(key), std::get<1>(key)}];
    sums.step = std::get<0>(key);
    sums.rank = std::get<1>(key);
    const bool is_remote = link == "RDMA";
    if ((!is_remote && link != "SDMA") || !seen.emplace(key, link).second) continue;
    (is_remote ? sums.rdma_mb : sums.sdma_mb) += reader.Number(row, "size_mb");
    (is_remote ? sums.rdma_ms : sums.sdma_ms) += reader.Number(row, "time_ms");
    if (!is_remote) continue;
    OpOfRank& op = ops[key];
    op.rdma_mb = reader.Number(row, "size_mb");
    op.rdma_ms = reader.Number(row, "time_ms");
    op.rdma_gbps = reader.Number(row, "bandwidth");
  }
  for (auto& [place, sums] : links) ranks.links.push_back(sums);
}

void TakeTimes(const Table& table, std::map<OpKey, OpOfRank>& ops) {
  const RankReader reader(table);
  for (size_t row = 0; row < table.rows(); ++row) {
    const OpKey key(StepNumber(reader.Text(row, "step")),
                    base::ParseInt64(reader.Text(row, "rank")).value_or(-1),
                    reader.Text(row, "group_hash"), reader.Text(row, "op_name"));
    if (std::get<3>(key) != "Total Op Info") ops[key].elapsed_ms = reader.Number(row, "elapsed_ms");
  }
}

// What `all` looks for by itself in the folder of a job. Traces that were found already have none.
Status AddCauses(const std::vector<cluster::Rank>& ranks, const cluster::RunOptions& options,
                 cluster::Outcome& outcome) {
  SONDE_ASSIGN_OR_RETURN(cluster::RunResult run,
                         cluster::Run(*cluster::FindMode("slow_rank"), ranks, {}, options));
  std::vector<recipes::Finding>& findings = run.outcome.findings;
  std::erase_if(findings, [](const auto& finding) { return !cluster::NamesCause(finding); });
  outcome.findings.insert(outcome.findings.begin(), std::make_move_iterator(findings.begin()),
                          std::make_move_iterator(findings.end()));
  return {};
}

}  // namespace

double LinkOfRank::RdmaGbps() const { return rdma_ms > 0 ? rdma_mb / rdma_ms : 0; }
double LinkOfRank::SdmaGbps() const { return sdma_ms > 0 ? sdma_mb / sdma_ms : 0; }

Result<Ranks> MeasureRanks(const std::vector<cluster::Rank>& ranks,
                           const cluster::RunOptions& options, const std::string& path,
                           const std::string& result_folder) {
  Ranks out;
  cluster::ModeOptions mode_options;
  mode_options.profiling_path = path;
  mode_options.result_folder = result_folder;
  SONDE_ASSIGN_OR_RETURN(cluster::RunResult run,
                         cluster::Run(*cluster::FindMode("all"), ranks, mode_options, options));
  out.outcome = std::move(run.outcome);
  out.failures = std::move(run.failures);
  if (path.empty()) {
    const Status added = AddCauses(ranks, options, out.outcome);
    if (!added.ok()) out.without_causes = added.message();
  }
  std::map<OpKey, OpOfRank> ops;
  for (const Table& table : out.outcome.tables) {
    const std::string_view name = table.info().reference_name;
    if (name == cluster::kClusterStep.reference_name) TakeSteps(table, out);
    if (name == cluster::kClusterBandwidth.reference_name) TakeLinks(table, ops, out);
    if (name == cluster::kClusterTime.reference_name) TakeTimes(table, ops);
  }
  for (auto& [key, op] : ops) {
    if (std::get<3>(key) == "Total Op Info") continue;
    std::tie(op.step, op.rank, op.group, op.name) = key;
    out.ops.push_back(std::move(op));
  }
  return out;
}

Extremes ExtremesOf(const std::vector<Measured>& values) {
  constexpr double kLeastGap = 0.05;  // of the mean: msprof-analyze 26.2.0, RATIO_THRESHOLD
  if (values.empty()) return {};
  const auto by_value = [](const Measured& a, const Measured& b) { return a.value < b.value; };
  const auto most = std::max_element(values.begin(), values.end(), by_value);
  const auto least = std::min_element(values.begin(), values.end(), by_value);
  double sum = 0;
  for (const Measured& one : values) sum += one.value;
  const double mean = sum / static_cast<double>(values.size());
  if (mean == 0 || (most->value - least->value) / mean < kLeastGap) return {};
  return {most->rank, most->step, least->rank, least->step};
}

}  // namespace sonde::advisor

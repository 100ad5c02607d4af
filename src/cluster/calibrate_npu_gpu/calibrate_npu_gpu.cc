// calibrate_npu_gpu: time of the modules of each rank compared with the same model on a GPU.
//
//   ours     module_statistic (modules/merged_calls.h), rows of one (parent, module, op) summed
//   GPU      of --baseline_profiling_path (module_profile.h), the device of the rank's number
//   match    by "parent/module", of ours without each "Ascend": the same ("rule"), else the one
//   that
//            is most like it from --fuzzy_threshold on ("fuzzy"), else by itself
//   rows     of one match, both sides by time, side by side; ratio and difference of the sums
// Tables CompareProfileReportRank<r>, with --dump_intermediate_results also NPUProfileRank<r> and
// GPUProfileRank<r>; in text workbooks. Empty cells are a blank, as in the reference. It takes 0.6
// whatever is requested; here that is the default, and the request counts. Units:
// microseconds. Pure but for reading the file.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "cluster/calibrate_npu_gpu/close_match.h"
#include "cluster/calibrate_npu_gpu/module_profile.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/modules/merged_calls.h"

namespace sonde::cluster {
namespace {

Status CheckShare(std::string_view value) {
  const auto number = base::ParseDouble(value);
  if (number && *number >= 0 && *number <= 1) return {};
  return base::InvalidArgumentError(
      base::Concat("must be a number from 0 to 1, not '", value, "'"));
}

constexpr ModeOption kGpuTrace = {.name = "--baseline_profiling_path",
                                  .kind = OptionKind::kPath,
                                  .help = "GPU profile, written by 'nsys export --type sqlite'",
                                  .is_of_reduce = true};
constexpr ModeOption kThreshold = {
    .name = "--fuzzy_threshold",
    .kind = OptionKind::kReal,
    .help = "Least similarity of module names that belong together, 0: equal names only",
    .usual = "0.6",
    .check = &CheckShare};
constexpr ModeOption kIntermediate = {.name = "--dump_intermediate_results",
                                      .kind = OptionKind::kFlag,
                                      .help = "Also write the times of each side"};

using base::Concat;

#define SONDE_COLUMNS_PROFILE(C)                                                      \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank, or number of the GPU")  \
  C(parent, Text, "Parent Module", "", "", KeyOf("module_parent"), "modules around")  \
  C(module, Text, "Module", "", "", KeyOf("module"), "class of the module")           \
  C(op, Text, "Op Name", "", "", KeyOf("op"), "operator")                             \
  C(count, Int, "Op Count", "", "", kNeither, "calls, of a GPU kernels")              \
  C(kernels, Text, "Kernel List", "", "", kLabel, "what it launches")                 \
  C(total_us, Double, "Total Kernel Duration(us)", "", "us", kLess, "of the kernels") \
  C(mean_us, Double, "Avg Kernel Duration(us)", "", "us", kLess, "mean of the means of its rows")
SONDE_CLUSTER_TABLE(NpuProfileRow, kNpuProfile, "npu_profile", "NPUProfileRank", "npu_report",
                    SONDE_COLUMNS_PROFILE, "operators and kernels of modules")
SONDE_CLUSTER_TABLE(GpuProfileRow, kGpuProfile, "gpu_profile", "GPUProfileRank", "gpu_report",
                    SONDE_COLUMNS_PROFILE, "operators and kernels of modules on the GPU")

// Cells are texts: empty ones are a blank.
#define SONDE_COLUMNS_COMPARE_PROFILE(C)                                                      \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                                \
  C(gpu_parent, Text, "(GPU) Parent Module", "", "", KeyOf("gpu_parent"), "modules around")   \
  C(gpu_module, Text, "(GPU) Module", "", "", KeyOf("gpu_module"), "of the GPU")              \
  C(npu_parent, Text, "(NPU) Parent Module", "", "", KeyOf("npu_parent"), "modules around")   \
  C(npu_module, Text, "(NPU) Module", "", "", KeyOf("npu_module"), "of the rank")             \
  C(match, Text, "Match Type", "", "", kLabel, "rule: same name; fuzzy: most like it")        \
  C(npu_op, Text, "(NPU) Op Name", "", "", KeyOf("npu_op"), "operator")                       \
  C(npu_count, Text, "(NPU) Op Count", "", "", kLabel, "calls")                               \
  C(npu_kernels, Text, "(NPU) Kernel List", "", "", kLabel, "what it launches")               \
  C(npu_total, Text, "(NPU) Total Kernel Duration(us)", "", "us", kLabel, "of the kernels")   \
  C(npu_share, Text, "(NPU) Total Kernel Duration(%)", "", "", kLabel, "of all of the rank")  \
  C(npu_mean, Text, "(NPU) Avg Kernel Duration(us)", "", "us", kLabel, "mean")                \
  C(gpu_op, Text, "(GPU) Op Name", "", "", KeyOf("gpu_op"), "operator")                       \
  C(gpu_count, Text, "(GPU) Op Count", "", "", kLabel, "kernels")                             \
  C(gpu_kernels, Text, "(GPU) Kernel List", "", "", kLabel, "what it launches")               \
  C(gpu_total, Text, "(GPU) Total Kernel Duration(us)", "", "us", kLabel, "of the kernels")   \
  C(gpu_share, Text, "(GPU) Total Kernel Duration(%)", "", "", kLabel, "of all of the GPU")   \
  C(gpu_mean, Text, "(GPU) Avg Kernel Duration(us)", "", "us", kLabel, "mean")                \
  C(ratio, Text, "(NPU/GPU) Module Time Ratio", "", "", kLabel, "of the sums of the modules") \
  C(difference, Text, "(NPU-GPU,us) Module Time Diff", "", "us", kLabel, "of the sums")
SONDE_CLUSTER_TABLE(CompareProfileRow, kCompareProfile, "compare_profile_report",
                    "CompareProfileReportRank", "compare_profile_report",
                    SONDE_COLUMNS_COMPARE_PROFILE, "time of modules compared with that on a GPU")

constexpr std::array kProfileWidths = {20.0, 20.0, 20.0, 10.0, 40.0, 10.0, 10.0};
constexpr std::array kCompareWidths = {20.0, 20.0, 20.0, 20.0, 10.0, 20.0, 10.0, 40.0, 10.0, 10.0,
                                       10.0, 20.0, 10.0, 40.0, 10.0, 10.0, 10.0, 10.0, 10.0};
constexpr std::array<size_t, 2> kMergedOfProfile = {0, 1};
constexpr std::array<size_t, 6> kMergedOfComparison = {0, 1, 2, 3, 17, 18};

constexpr BookInfo BookOf(const TableInfo& table, std::string_view file,
                          std::span<const double> widths, std::span<const size_t> merged) {
  return {.table = &table,
          .file = file,
          .rank_column = 0,
          .shows_rank = false,
          .widths = widths,
          .merged = merged,
          .is_header_high = true,
          .splits_tables = true};
}
constexpr std::array kCalibrateNpuGpuBooks = {
    BookOf(kCompareProfile, "compare_profile_report_{rank}", kCompareWidths, kMergedOfComparison),
    BookOf(kNpuProfile, "npu_report_{rank}", kProfileWidths, kMergedOfProfile),
    BookOf(kGpuProfile, "gpu_report_{rank}", kProfileWidths, kMergedOfProfile)};

Status MapCalibrateNpuGpu(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  std::vector<ModuleRange> modules = ModulesOf(data);
  if (modules.empty()) return {};
  const std::vector<LaunchingOp> ops = LaunchingOpsOf(rank.view);
  std::vector<ModuleRange> backward = BackwardModules(data, modules);
  modules.insert(modules.end(), std::move_iterator(backward.begin()),
                 std::move_iterator(backward.end()));
  std::vector<ModuleTime> rows;
  for (MergedCalls& row : MergeCalls(PlaceOps(modules, ops), ops)) {
    const auto count = static_cast<double>(row.count);
    rows.push_back({std::move(row.parent), std::move(row.module), std::move(row.op),
                    std::move(row.kernels), count, row.total_ns / 1e3, row.total_ns / count / 1e3});
  }
  part.Rows<ModuleTime>() = SumByOp(rows);
  return {};
}

struct ModuleName {
  std::string parent;
  std::string module;
  std::string Key() const { return Concat(parent, "/", module); }
};

// Both sides of one key, each by time.
struct Match {
  ModuleName gpu;
  std::string_view kind;  // "": of the GPU alone
  std::vector<const ModuleTime*> npu_rows;
  std::vector<const ModuleTime*> gpu_rows;
};

double SumOf(const std::vector<const ModuleTime*>& rows) {
  double sum = 0;
  for (const ModuleTime* row : rows) sum += row->total_us;
  return sum;
}

class Comparison {
 public:
  Comparison(int32_t rank, const std::vector<ModuleTime>& npu, const std::vector<ModuleTime>& gpu,
             double cutoff)
      : rank_(rank) {
    for (const ModuleTime& row : gpu) {
      const ModuleName name{row.parent, row.module};
      Match& match = matches_[name.Key()];
      if (match.gpu_rows.empty()) keys_.push_back(name.Key());
      match.gpu = name;
      match.gpu_rows.push_back(&row);
      gpu_us_ += row.total_us;
    }
    for (const ModuleTime& row : npu) {
      const ModuleName name{base::ReplaceAll(row.parent, "Ascend", ""),
                            base::ReplaceAll(row.module, "Ascend", "")};
      const auto [key, kind] = KeyFor(name.Key(), cutoff);
      Match& match = matches_[key];
      if (match.gpu_rows.empty() && match.npu_rows.empty()) match.gpu = name;
      match.kind = kind;
      kind_of_[&row] = kind;
      match.npu_rows.push_back(&row);
      npu_us_ += row.total_us;
    }
    for (auto& [key, match] : matches_) {
      for (auto* rows : {&match.npu_rows, &match.gpu_rows}) {
        std::stable_sort(rows->begin(), rows->end(),
                         [](const auto* a, const auto* b) { return a->total_us > b->total_us; });
      }
    }
  }

  void AddRows(std::vector<CompareProfileRow>& rows) const {
    for (const Match* match : InOrder()) {
      const size_t count = std::max(match->npu_rows.size(), match->gpu_rows.size());
      for (size_t i = 0; i < count; ++i) rows.push_back(RowOf(*match, i));
    }
  }

  void ReportFindings(Outcome& outcome) const {
    std::set<std::string> modules;
    std::set<std::string> found;
    const Match* worst = nullptr;
    const auto slower = [](const Match& match) {
      return SumOf(match.npu_rows) - SumOf(match.gpu_rows);
    };
    for (const auto& [key, match] : matches_) {
      for (const ModuleTime* row : match.npu_rows) {
        const std::string name = ModuleName{row->parent, row->module}.Key();
        modules.insert(name);
        if (!match.gpu_rows.empty()) found.insert(name);
      }
      if (match.npu_rows.empty() || match.gpu_rows.empty()) continue;
      if (worst == nullptr || slower(match) > slower(*worst)) worst = &match;
    }
    const std::string rank = std::to_string(rank_);
    if (worst == nullptr) {
      AddFinding(outcome, "cluster.calibrated_none", {rank, std::to_string(modules.size())});
      return;
    }
    recipes::Finding& finding = AddFinding(
        outcome, "cluster.calibrated",
        {rank, std::to_string(found.size()), std::to_string(modules.size()), worst->gpu.Key(),
         Duration(1e3 * SumOf(worst->npu_rows)), Duration(1e3 * SumOf(worst->gpu_rows))});
    finding.rank = rank_;
    finding.value = slower(*worst);
    finding.evidence = Concat("SELECT * FROM ", kCompareProfile.reference_name, rank);
  }

 private:
  std::pair<std::string, std::string_view> KeyFor(const std::string& key, double cutoff) const {
    const auto found = matches_.find(key);
    const bool is_of_gpu = found != matches_.end() && !found->second.gpu_rows.empty();
    if (is_of_gpu || cutoff <= 0) return {key, "rule"};
    const std::string* close = CloseMatch(key, keys_, cutoff);
    return close == nullptr ? std::pair(key, "rule") : std::pair(*close, "fuzzy");
  }

  // By the parent's name, then what takes longer here.
  std::vector<const Match*> InOrder() const {
    std::vector<const Match*> list;
    for (const auto& [key, match] : matches_) list.push_back(&match);
    const auto order = [](const Match* match) {
      const bool has_both = !match->npu_rows.empty() && !match->gpu_rows.empty();
      const double more = SumOf(match->npu_rows) - SumOf(match->gpu_rows);
      return std::tuple(std::string_view(match->gpu.parent), has_both ? 0 : 1,
                        has_both ? -more : 0.0);
    };
    std::stable_sort(list.begin(), list.end(),
                     [&](const Match* a, const Match* b) { return order(a) < order(b); });
    return list;
  }

  static std::string ShareText(double part, double all) {
    return Concat(Fixed(all > 0 ? 100 * part / all : 0, 2), "%");
  }

  CompareProfileRow RowOf(const Match& match, size_t place) const {
    const std::string none = " ";
    CompareProfileRow row{.rank = rank_,
                          .gpu_parent = match.gpu.parent,
                          .gpu_module = match.gpu.module,
                          .npu_parent = match.gpu.parent,
                          .npu_module = match.gpu.module,
                          .match = none,
                          .npu_op = none,
                          .npu_count = none,
                          .npu_kernels = none,
                          .npu_total = none,
                          .npu_share = none,
                          .npu_mean = none,
                          .gpu_op = none,
                          .gpu_count = none,
                          .gpu_kernels = none,
                          .gpu_total = none,
                          .gpu_share = none,
                          .gpu_mean = none,
                          .ratio = none,
                          .difference = none};
    if (place < match.npu_rows.size()) {
      const ModuleTime& npu = *match.npu_rows[place];
      std::tie(row.npu_parent, row.npu_module) = std::tie(npu.parent, npu.module);
      row.match = kind_of_.at(&npu);
      std::tie(row.npu_op, row.npu_kernels) = std::tie(npu.op, npu.kernels);
      row.npu_count = base::PythonDoubleText(npu.count);
      row.npu_total = base::PythonDoubleText(npu.total_us);
      row.npu_share = ShareText(npu.total_us, npu_us_);
      row.npu_mean = base::PythonDoubleText(npu.mean_us);
    }
    if (place < match.gpu_rows.size()) {
      const ModuleTime& gpu = *match.gpu_rows[place];
      std::tie(row.gpu_op, row.gpu_kernels) = std::tie(gpu.op, gpu.kernels);
      row.gpu_count = base::PythonDoubleText(gpu.count);
      row.gpu_total = base::PythonDoubleText(gpu.total_us);
      row.gpu_share = ShareText(gpu.total_us, gpu_us_);
      row.gpu_mean = base::PythonDoubleText(gpu.mean_us);
    }
    if (match.npu_rows.empty() || match.gpu_rows.empty()) return row;
    const double npu_us = SumOf(match.npu_rows);
    const double gpu_us = SumOf(match.gpu_rows);
    if (gpu_us > 0) row.ratio = Fixed(npu_us / gpu_us, 2);
    row.difference = base::PythonDoubleText(npu_us - gpu_us);
    return row;
  }

  int32_t rank_;
  std::map<std::string, Match> matches_;
  std::vector<std::string> keys_;  // of the GPU
  std::map<const ModuleTime*, std::string_view> kind_of_;
  double npu_us_ = 0;
  double gpu_us_ = 0;
};

template <class Row>
void AddProfile(int32_t rank, const std::vector<ModuleTime>& times, std::vector<Row>& rows) {
  for (const ModuleTime& time : times) {
    rows.push_back({.rank = rank,
                    .parent = time.parent,
                    .module = time.module,
                    .op = time.op,
                    .count = static_cast<int64_t>(time.count),
                    .kernels = time.kernels,
                    .total_us = time.total_us,
                    .mean_us = time.mean_us});
  }
}

Status ReduceCalibrateNpuGpu(std::span<const RankPart> ranks, const ModeOptions& options,
                             Outcome& outcome) {
  const std::string path = TextOf(options.values, kGpuTrace);
  SONDE_ASSIGN_OR_RETURN(const auto gpu, ReadGpuModules(path));
  std::vector<CompareProfileRow> compared;
  std::vector<NpuProfileRow> npu_rows;
  std::vector<GpuProfileRow> gpu_rows;
  std::vector<std::string> without;
  for (const RankPart& rank : ranks) {
    const auto found = gpu.find(rank.rank);
    if (found == gpu.end()) {
      without.push_back(std::to_string(rank.rank));
      continue;
    }
    const auto& own = rank.part.Rows<ModuleTime>();
    const Comparison comparison(rank.rank, own, found->second, RealOf(options.values, kThreshold));
    comparison.AddRows(compared);
    comparison.ReportFindings(outcome);
    if (!IsGiven(options.values, kIntermediate)) continue;
    AddProfile(rank.rank, own, npu_rows);
    AddProfile(rank.rank, found->second, gpu_rows);
  }
  if (compared.empty()) {
    return base::NotFoundError(Concat("no rank has the number of a GPU in '", path,
                                      "' (the first: ", std::to_string(gpu.begin()->first), ")"));
  }
  if (!without.empty()) {
    outcome.notices.push_back(Concat("the GPUs' trace has no device with the number of rank ",
                                     base::Join(without, ","), ": not compared"));
  }
  outcome.tables = {TableOf(kCompareProfile, compared), TableOf(kNpuProfile, npu_rows),
                    TableOf(kGpuProfile, gpu_rows)};
  return {};
}

constexpr std::array kCalibrateNpuGpuTables = {&kCompareProfile, &kNpuProfile, &kGpuProfile};
constexpr std::array kCalibrateNpuGpuOptions = {&kGpuTrace, &kThreshold, &kIntermediate};

}  // namespace

extern const Mode kCalibrateNpuGpuMode;
constexpr Mode kCalibrateNpuGpuMode = {
    .name = "calibrate_npu_gpu",
    .folder = "CalibrateNpuGpu",
    .summary = "Time of modules compared with that on a GPU (--baseline_profiling_path)",
    .tables = kCalibrateNpuGpuTables,
    .needs = ModuleNeeds(),
    .wants = "kernels and modules (--profile-with-modules; mstx ranges of the domain Module)",
    .options = kCalibrateNpuGpuOptions,
    .books = kCalibrateNpuGpuBooks,
    .takes_all_steps = true,
    .check =
        [](const ModeOptions& options) { return CheckGpuFile(TextOf(options.values, kGpuTrace)); },
    .map = &MapCalibrateNpuGpu,
    .reduce = &ReduceCalibrateNpuGpu};

}  // namespace sonde::cluster

// operator_mfu: how much of the chip's peak the kernels of operators reach whose floating point
// operations were recorded.
//
//   peak       AI cores x frequency x operations in a cycle (16-bit floats 8192, INT8 16384), of
//              device_N/info.json.N in the rank's folder; 32-bit floats count as 16-bit ones
//   FLOPs      "NUMBER-OPERATOR": ranges of the mstx domain mfu_flops; kernels of operators that
//              begin in one, with shapes, are its kernels. Each is credited with all of them, as in
//              the reference: a helper kernel next to the one that computes shows too much
//   data type  the first input's of the first kernel
//   mfu        FLOPs / duration / peak
//   ModuleMFU  the rows of module_statistic without backward modules; avg_mfu is the mean over the
//              calls in percent, of each kernel that has one
// Ranks whose chip or data type is not known are named. Units: nanoseconds. Any thread.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/host/json.h"
#include "base/shortened.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/statistics.h"
#include "cluster/modules/merged_calls.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using recipes::TraceData;

#define SONDE_COLUMNS_OPERATOR_MFU(C)                                                           \
  C(rank, Int, "rank_id", "Rank ID", "", KeyOf("rank"), "global rank")                          \
  C(op, Text, "op_name", "Op Name", "", KeyOf("op"), "operator")                                \
  C(kernel, Text, "kernel_name", "Kernel Name", "", KeyOf("kernel"), "kernel")                  \
  C(begin_ns, Int, "kernel_start(ns)", "Kernel Start(ns)", "ns", kLabel, "its begin")           \
  C(end_ns, Int, "kernel_end(ns)", "Kernel End(ns)", "ns", kLabel, "its end")                   \
  C(duration_ns, Double, "kernel_duration(ns)", "Kernel Duration(ns)", "ns", kLess, "duration") \
  C(mfu, Double, "mfu", "MFU", "", kMore, "share of the peak, 0 to 1")                          \
  C(tflops, Double, "actual_tflops", "", "TFLOPS", kMore, "reached")                            \
  C(peak_tflops, Double, "chip_peak_tflops", "", "TFLOPS", kLabel, "of the chip")               \
  C(flops, Double, "flops", "", "", kNeither, "floating point operations")                      \
  C(flops_op, Text, "flops_op_name", "", "", kLabel, "operator that they were recorded for")    \
  C(input_shapes, Text, "input_shapes", "", "", kLabel, "of the kernel")                        \
  C(output_shapes, Text, "output_shapes", "", "", kLabel, "of the kernel")
SONDE_CLUSTER_TABLE(OperatorMfuRow, kOperators, "operator_mfu", "OperatorMFU",
                    "operator_mfu_kernel", SONDE_COLUMNS_OPERATOR_MFU,
                    "share of the peak by kernel")

#define SONDE_COLUMNS_MODULE_MFU(C)                                                               \
  C(rank, Int, "rank_id", "Rank ID", "", KeyOf("rank"), "global rank")                            \
  C(parent, Text, "parent_module", "Parent Module", "", KeyOf("module_parent"), "modules around") \
  C(module, Text, "module", "Module", "", KeyOf("module"), "class of the module")                 \
  C(op, Text, "op_name", "Op Name", "", KeyOf("op"), "operator")                                  \
  C(kernels, Text, "kernel_list", "Kernel List", "", KeyOf("kernels"), "what it launches")        \
  C(total_ns, Double, "total_kernel_duration(ns)", "Total Kernel Duration(ns)", "ns", kLess,      \
    "duration of the kernels of all calls")                                                       \
  C(mean_ns, Double, "avg_kernel_duration(ns)", "Avg Kernel Duration(ns)", "ns", kLess, "of one") \
  C(count, Int, "op_count", "Op Count", "", kNeither, "calls")                                    \
  C(mfu, OptText, "avg_mfu", "Avg MFU", "", kLabel, "share of the peak of its kernels")
SONDE_CLUSTER_TABLE(ModuleMfuRow, kModuleMfu, "module_mfu", "ModuleMFU", "operator_mfu_module",
                    SONDE_COLUMNS_MODULE_MFU, "share of the peak by module")

constexpr std::array kKernelWidths = {50.0, 40.0, 10.0, 15.0};
constexpr std::array kModuleWidths = {40.0, 40.0, 40.0, 50.0, 10.0, 10.0, 10.0, 10.0};
constexpr std::array<size_t, 2> kMergedOperators = {1, 2};
constexpr std::array kOperatorMfuBooks = {
    BookInfo{.table = &kOperators, .file = "operator_mfu_kernel_{rank}", .widths = kKernelWidths},
    BookInfo{.table = &kModuleMfu,
             .file = "operator_mfu_module_{rank}",
             .widths = kModuleWidths,
             .merged = kMergedOperators,
             .is_header_high = true}};

// Why a rank, or ranges of it, have no share of a peak.
struct Trouble {
  std::string text;
};

// Floating point operations of an operator.
struct Flops {
  int64_t begin = 0;
  int64_t end = 0;
  double count = 0;
  std::string op;
};

// Operations in a second over operations in a cycle; 0 where the chip is not known.
double CyclesOf(const std::string& folder, int depth) {
  constexpr int kDeepest = 10;
  constexpr double kMegahertz = 1e6;
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok() || depth > kDeepest) return 0;
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string path = base::JoinPath(folder, entry.name);
    if (!base::IsDirectory(path)) continue;
    if (!entry.name.starts_with("device_")) {
      if (const double cycles = CyclesOf(path, depth + 1); cycles > 0) return cycles;
      continue;
    }
    const auto info = base::JsonDocument::ReadFile(
        base::JoinPath(path, Concat("info.json.", entry.name.substr(7))));
    if (!info.ok()) continue;
    const base::JsonValue chip = info->root()["DeviceInfo"][0];
    const auto cores = chip.GetInt("ai_core_num", 0);
    const auto text = chip.GetString("aic_frequency", "");
    const double megahertz = text.ok() ? base::ParseDouble(*text).value_or(0) : 0;
    if (!cores.ok() || *cores <= 0 || megahertz <= 0) continue;
    return static_cast<double>(*cores) * megahertz * kMegahertz;
  }
  return 0;
}

// 0 where the type has no peak.
double OperationsInCycle(std::string_view types) {
  constexpr double kFloat = 16.0 * 16 * 16 * 2;
  constexpr double kInt8 = 16.0 * 32 * 16 * 2;
  std::string first;
  for (const std::string_view type : base::Split(types, ';')) {
    if (first.empty()) first = base::Trim(type);
  }
  const bool is_float = first.empty() || first == "FLOAT" || first == "FLOAT16" ||
                        first == "BF16" || first == "DT_BF16";
  return is_float ? kFloat : first == "INT8" ? kInt8 : 0;
}

std::vector<Flops> FlopsOf(const TraceData& data) {
  std::vector<Flops> found;
  for (const store::MarkRow& mark : data.marks) {
    if (data.Name(mark.domain) != "mfu_flops" || mark.dur <= 0) continue;
    const std::string_view text = data.Name(mark.message);
    const size_t dash = text.find('-');
    if (dash == std::string_view::npos || dash + 1 == text.size()) continue;
    const auto count = base::ParseInt64(text.substr(0, dash));
    if (!count || *count <= 0) continue;
    found.push_back({.begin = mark.ts,
                     .end = mark.ts + mark.dur,
                     .count = static_cast<double>(*count),
                     .op = std::string(text.substr(dash + 1))});
  }
  return found;
}

// A kernel of an operator, by their numbers.
using KernelKey = std::pair<size_t, size_t>;

class RankMfu {
 public:
  RankMfu(const RankInput& rank, const std::vector<LaunchingOp>& ops, Part& part)
      : rank_(rank), data_(rank.data()), ops_(ops), part_(part) {}

  void Run() {
    const std::vector<Flops> ranges = FlopsOf(data_);
    if (ranges.empty()) return;
    cycles_ = CyclesOf(rank_.path, 0);
    if (cycles_ <= 0) {
      part_.Rows<Trouble>().push_back(
          {Concat("rank ", std::to_string(rank_.rank),
                  ": its chip is not known (no device_N/info.json.N), so that there is no peak")});
      return;
    }
    for (const Flops& range : ranges) Credit(range);
  }
  // NaN where there is none.
  double Of(size_t op, size_t kernel) const {
    const auto found = mfu_.find({op, kernel});
    return found == mfu_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  }

 private:
  const store::TaskKindRow* KindOf(const LaunchedKernel& kernel) const {
    if (kernel.kind < 0) return nullptr;
    const store::TaskKindRow& kind = data_.kinds[static_cast<size_t>(kernel.kind)];
    const bool has_shapes = kind.input_shapes != store::kNone && kind.output_shapes != store::kNone;
    return has_shapes ? &kind : nullptr;
  }

  std::vector<KernelKey> KernelsIn(const Flops& range) const {
    std::set<std::pair<int64_t, int64_t>> known;
    std::vector<KernelKey> kernels;
    const auto first =
        std::lower_bound(ops_.begin(), ops_.end(), range.begin,
                         [](const LaunchingOp& op, int64_t begin) { return op.begin < begin; });
    for (auto op = first; op != ops_.end() && op->begin <= range.end; ++op) {
      for (size_t i = 0; i < op->kernels.size(); ++i) {
        const LaunchedKernel& kernel = op->kernels[i];
        const bool is_new = KindOf(kernel) != nullptr && kernel.end > kernel.begin &&
                            known.emplace(kernel.begin, kernel.end).second;
        if (is_new) kernels.emplace_back(static_cast<size_t>(op - ops_.begin()), i);
      }
    }
    return kernels;
  }

  void Credit(const Flops& range) {
    const std::vector<KernelKey> kernels = KernelsIn(range);
    if (kernels.empty()) return;
    const auto& [first_op, first_kernel] = kernels.front();
    const std::string_view types =
        data_.Name(KindOf(ops_[first_op].kernels[first_kernel])->input_types);
    const double peak = cycles_ * OperationsInCycle(types);
    if (peak <= 0) {
      part_.Rows<Trouble>().push_back({Concat("rank ", std::to_string(rank_.rank),
                                              ": there is no peak for the types ", types)});
      return;
    }
    for (const auto& [op, kernel] : kernels) Add(range, peak, op, kernel);
  }

  void Add(const Flops& range, double peak, size_t op, size_t place) {
    constexpr double kTera = 1e12;
    const LaunchedKernel& kernel = ops_[op].kernels[place];
    const store::TaskKindRow& kind = *KindOf(kernel);
    const auto duration = static_cast<double>(kernel.end - kernel.begin);
    const double reached = range.count / (duration * 1e-9);
    mfu_.try_emplace({op, place}, reached / peak);
    part_.Rows<OperatorMfuRow>().push_back(
        {.rank = rank_.rank,
         .op = std::string(ops_[op].name),
         .kernel = kernel.name,
         .begin_ns = kernel.begin,
         .end_ns = kernel.end,
         .duration_ns = duration,
         .mfu = Round(reached / peak, 4),
         .tflops = Round(reached / kTera, 2),
         .peak_tflops = Round(peak / kTera, 2),
         .flops = range.count,
         .flops_op = range.op,
         .input_shapes = std::string(data_.Name(kind.input_shapes)),
         .output_shapes = std::string(data_.Name(kind.output_shapes))});
  }

  const RankInput& rank_;
  const TraceData& data_;
  const std::vector<LaunchingOp>& ops_;
  Part& part_;
  double cycles_ = 0;
  std::map<KernelKey, double> mfu_;
};

// "6.38%" of each kernel that has a share.
std::string MeanShares(const MergedCalls& row, const std::vector<LaunchingOp>& ops,
                       const RankMfu& mfu) {
  std::vector<std::string> texts;
  for (size_t place = 0; place < ops[row.calls.front()].kernels.size(); ++place) {
    std::vector<double> shares;
    for (const size_t op : row.calls) {
      if (const double share = mfu.Of(op, place); share > 0) shares.push_back(share);
    }
    if (shares.empty()) continue;
    texts.push_back(Concat(base::PythonDoubleText(Round(Mean(shares) * 100, 2)), "%"));
  }
  return base::Join(texts, ",");
}

Status MapOperatorMfu(const RankInput& rank, Part& part) {
  const std::vector<LaunchingOp> ops = LaunchingOpsOf(rank.view);
  RankMfu mfu(rank, ops, part);
  mfu.Run();
  for (MergedCalls& row : MergeCalls(PlaceOps(ModulesOf(rank.data()), ops), ops)) {
    ModuleMfuRow out{.rank = rank.rank,
                     .parent = row.parent,
                     .module = row.module,
                     .op = row.op,
                     .kernels = row.kernels,
                     .total_ns = row.total_ns,
                     .mean_ns = row.total_ns / static_cast<double>(row.count),
                     .count = row.count,
                     .mfu = MeanShares(row, ops, mfu)};
    part.Rows<ModuleMfuRow>().push_back(std::move(out));
  }
  return {};
}

void ReportShares(const std::vector<OperatorMfuRow>& rows, Outcome& outcome) {
  if (rows.empty()) {
    AddFinding(outcome, "cluster.no_mfu", {}, kOperators);
    return;
  }
  // The kernel in which most time is spent, over all ranks.
  std::map<std::string, std::pair<double, double>> kernels;  // time, FLOPs
  for (const OperatorMfuRow& row : rows) {
    kernels[row.kernel].first += row.duration_ns;
    kernels[row.kernel].second += row.mfu * row.duration_ns;
  }
  const auto longest = std::max_element(
      kernels.begin(), kernels.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  const auto least = std::min_element(rows.begin(), rows.end(),
                                      [](const auto& a, const auto& b) { return a.mfu < b.mfu; });
  AddFinding(
      outcome, "cluster.mfu",
      {base::Shortened(longest->first), Percent(longest->second.second, longest->second.first),
       Percent(least->mfu, 1), base::Shortened(least->kernel), std::to_string(least->rank)},
      kOperators);
}

Status ReduceOperatorMfu(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                         Outcome& outcome) {
  std::vector<OperatorMfuRow> operators;
  std::vector<ModuleMfuRow> modules;
  std::set<std::string> troubles;
  for (const RankPart& rank : ranks) {
    const auto& own = rank.part.Rows<OperatorMfuRow>();
    operators.insert(operators.end(), own.begin(), own.end());
    const auto& own_modules = rank.part.Rows<ModuleMfuRow>();
    modules.insert(modules.end(), own_modules.begin(), own_modules.end());
    for (const Trouble& trouble : rank.part.Rows<Trouble>()) troubles.insert(trouble.text);
  }
  outcome.notices.assign(troubles.begin(), troubles.end());
  outcome.tables = {TableOf(kOperators, operators), TableOf(kModuleMfu, modules)};
  ReportShares(operators, outcome);
  return {};
}

constexpr std::array kOperatorMfuTables = {&kOperators, &kModuleMfu};

}  // namespace

extern const Mode kOperatorMfuMode;
constexpr Mode kOperatorMfuMode = {
    .name = "operator_mfu",
    .folder = "OperatorMfu",
    .summary = "Share of the chip's peak that kernels reach, and by module",
    .tables = kOperatorMfuTables,
    .needs = ModuleNeeds(),
    .wants =
        "operations of kernels (with_flops and mstx of the profiler) or modules "
        "(--profile-with-modules; mstx ranges of the domain Module)",
    .books = kOperatorMfuBooks,
    .takes_all_steps = true,
    .map = &MapOperatorMfu,
    .reduce = &ReduceOperatorMfu};

}  // namespace sonde::cluster

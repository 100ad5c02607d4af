#include "compare/compare.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/count_of.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "compare/api/api_sheet.h"
#include "compare/communication/communication_sheet.h"
#include "compare/difference/tables.h"
#include "compare/frame/communicates.h"
#include "compare/frame/load.h"
#include "compare/kernels/kernel_sheets.h"
#include "compare/memory/memory_sheets.h"
#include "compare/modules/module_sheets.h"
#include "compare/operators/operator_sheets.h"
#include "compare/overall/overall.h"
#include "recipes/trace/counted_steps.h"

namespace sonde::compare {
namespace {

using base::Concat;

struct Sides {
  // The first run of each; one side where a trace is compared with itself.
  std::shared_ptr<const Side> base;
  std::shared_ptr<const Side> comparison;
  // All runs; the same where there is one.
  std::shared_ptr<const Side> all_base;
  std::shared_ptr<const Side> all_comparison;
};

Status CheckNotEmpty(const Side& side);

using Loaded = std::vector<std::optional<Result<Side>>>;

// Runs of the base, then those of the comparison.
Loaded LoadRuns(const Request& request, bool is_one, const job::NoticeSink& notify) {
  std::vector<std::pair<std::string, int64_t>> runs;
  for (const std::string& path : request.base_paths) runs.emplace_back(path, request.base_step);
  for (const std::string& path : request.comparison_paths) {
    if (!is_one) runs.emplace_back(path, request.comparison_step);
  }
  std::map<std::string, size_t> counts;
  for (const auto& [path, step] : runs) ++counts[path];
  const bool has_twice = counts.size() < runs.size();
  std::mutex mutex;
  const auto notify_line = [&](std::string_view line) {
    const std::scoped_lock lock(mutex);
    notify(line);
  };
  // A trace that is read twice is kept, and opened the second time.
  const int at_once = has_twice ? 1 : request.threads;
  Loaded loaded(runs.size());
  base::ParallelFor(runs.size(), {.max_threads = at_once}, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto& [path, step] = runs[i];
      loaded[i].emplace(LoadSide(path, step, counts.at(path) > 1 ? Reading::kTwice : Reading::kOnce,
                                 request.threads, notify_line));
    }
  });
  return loaded;
}

struct Runs {
  std::shared_ptr<const Side> first;
  std::shared_ptr<const Side> all;
};

Result<Runs> TakeRuns(std::span<std::optional<Result<Side>>> loaded) {
  std::vector<Side> runs;
  for (auto& run : loaded) {
    SONDE_RETURN_IF_ERROR(run->status());
    runs.push_back(*std::move(*run));
    SONDE_RETURN_IF_ERROR(CheckNotEmpty(runs.back()));
  }
  if (runs.size() == 1) {
    const auto only = std::make_shared<const Side>(std::move(runs.front()));
    return Runs{.first = only, .all = only};
  }
  const auto first = std::make_shared<const Side>(runs.front());
  return Runs{.first = first, .all = std::make_shared<const Side>(JoinRuns(std::move(runs)))};
}

Result<Sides> Load(const Request& request, const job::NoticeSink& notify) {
  const bool is_one = request.base_paths.size() == 1 &&
                      request.base_paths == request.comparison_paths &&
                      request.base_step == request.comparison_step;
  Loaded loaded = LoadRuns(request, is_one, notify);
  const size_t of_base = request.base_paths.size();
  SONDE_ASSIGN_OR_RETURN(const Runs base, TakeRuns(std::span(loaded).first(of_base)));
  Runs comparison = base;
  if (!is_one) {
    SONDE_ASSIGN_OR_RETURN(comparison, TakeRuns(std::span(loaded).subspan(of_base)));
  }
  return Sides{.base = base.first,
               .comparison = comparison.first,
               .all_base = base.all,
               .all_comparison = comparison.all};
}

Status CheckNotEmpty(const Side& side) {
  if (!side.IsEmpty()) return {};
  return base::NotFoundError(
      Concat("'", side.path, "' holds neither operators nor work of a device: there is nothing to ",
             "compare", side.issues.empty() ? "" : ", and not all of it could be read: ",
             base::Join(side.issues, ", ")));
}

class Comparer {
 public:
  Comparer(const Request& request, const Sides& sides)
      : options_(request.options),
        threads_(request.threads),
        base_(*sides.base),
        comparison_(*sides.comparison),
        all_base_(*sides.all_base),
        all_comparison_(*sides.all_comparison),
        trees_(MakeModuleTrees(base_, comparison_)) {
    report_.base_path = request.base_paths.front();
    report_.comparison_path = request.comparison_paths.front();
  }

  Report Run() {
    const bool all = options_.WantsAll();
    for (const Side* side : {&all_base_, &all_comparison_}) {
      if (side->issues.empty()) continue;
      Notice(Concat("'", side->path, "': the data has faults: ", base::Join(side->issues, ", "),
                    "; 'sonde analyse' explains them"));
    }
    // The verdict asks nothing of the sheets.
    base::TaskGroup background(threads_);
    background.Run([this] {
      const bool is_first = all_base_.runs == 1 && all_comparison_.runs == 1;
      report_.judgement =
          is_first ? Judge(base_, comparison_, trees_) : Judge(all_base_, all_comparison_);
    });
    if (all_base_.runs > 1 || all_comparison_.runs > 1) {
      Notice(Concat("the sheets compare the first run of each side: '", base_.path, "' and '",
                    comparison_.path, "'"));
    }
    if (all || options_.profiling) AddOverall();
    if (all || options_.communication) AddCommunication();
    const bool needs_pairs = AddModules(all || options_.operators);
    if (needs_pairs || all || options_.memory) {
      pairs_ = MatchOps(base_, comparison_, options_);
    }
    if (needs_pairs) AddOperators();
    if (all || options_.memory) AddMemory();
    if (all || options_.api) AddApi();
    if (all || options_.kernels) AddKernels();
    background.Wait();
    ReportDoubts();
    report_.more = ResultSheets(report_.judgement);
    // No table for data that neither side has.
    std::erase_if(report_.more, [](const Sheet& sheet) {
      const std::string_view name = ResultOf(sheet).name;
      return sheet.rows.empty() &&
             (name == kCompareRequest.name || name == kCompareDistribution.name ||
              name == kCompareMemory.name || name == kCompareCall.name);
    });
    return std::move(report_);
  }

 private:
  void Notice(std::string line) { report_.notices.push_back(std::move(line)); }

  // Reasons why the comparison may mislead.
  void ReportDoubts() {
    if (base_.path == comparison_.path) Notice("both sides are the same trace");
    const Side* sides[] = {&base_, &comparison_};  // may be one
    const size_t traces = base_.path == comparison_.path ? 1 : std::size(sides);
    for (const Side* side : std::span(sides).first(traces)) {
      for (const std::string& text : side->lacks) Notice(Concat("'", side->path, "': ", text));
    }
    for (size_t i = 0; i < std::size(sides); ++i) {
      if (!sides[i]->steps.empty()) continue;
      Notice(Concat(i == 0 ? "the base side" : "the comparison side",
                    " has no steps: the whole trace counts as one"));
    }
    for (size_t i = 0; i < std::size(sides); ++i) {
      const int64_t warm_up = report_.judgement.warm_up[i];
      if (warm_up == 0) continue;
      Notice(Concat("'", sides[i]->path, "': the first ",
                    base::CountOf(warm_up, "step is", "steps are"),
                    " left out of the verdict: warm-up, longer than ", NumberText(recipes::kWarmUp),
                    " times the usual one"));
    }
    for (size_t i = 0; i < std::size(sides); ++i) {
      const int64_t fragments = report_.judgement.fragments[i];
      if (fragments == 0) continue;
      Notice(Concat("'", sides[i]->path, "': ", base::CountOf(fragments, "step is", "steps are"),
                    " left out of the verdict: shorter than a tenth of the usual one"));
    }
    for (size_t i = 0; i < std::size(sides); ++i) {
      const std::vector<std::string>& lone = report_.judgement.lone_devices[i];
      if (lone.empty()) continue;
      Notice(Concat("'", sides[i]->path, "': no stage is about device ",
                    base::Join(lone, " and device "), ", which the other side lacks"));
    }
    constexpr double kFewAligned = 0.5;
    const double share = report_.judgement.aligned_share;
    // Steps without work of a device say nothing about models.
    const bool works = std::ranges::any_of(report_.judgement.stages, [](const Stage& stage) {
      const bool is_work = stage.name == "computing" || stage.name == "communication";
      return is_work && stage.base.mean_ms + stage.comparison.mean_ms > 0;
    });
    if (works && share < kFewAligned) {
      Notice(Concat("only ", NumberText(Round(100 * share, 1)),
                    " % of the kernel time belongs to operators that both sides have: these may be "
                    "runs of other models"));
    }
  }

  // Missing data is named with the side that lacks it.
  void Add(Sheet sheet, std::string_view wanted, bool base_has, bool comparison_has) {
    if (!sheet.rows.empty()) {
      report_.sheets.push_back(std::move(sheet));
      return;
    }
    const std::string_view who = !base_has && !comparison_has ? "both sides lack "
                                 : base_has                   ? "the comparison side lacks "
                                                              : "the base side lacks ";
    Notice(Concat("no sheet ", sheet.info->name, ": ", who, wanted));
  }

  void AddOverall() {
    const Overall base = MeasureOverall(base_);
    const Overall comparison = MeasureOverall(comparison_);
    Add(OverallSheet(base, comparison), "work of a device", base.e2e_ms > 0, comparison.e2e_ms > 0);
    if (base.e2e_ms > 0 && comparison.e2e_ms > 0) {
      report_.table = OverallTable(base_, base, comparison_, comparison);
    }
  }

  void AddCommunication() {
    const auto has = [](const Side& side) {
      for (const Kernel& kernel : side.kernels) {
        if (Communicates(side, kernel)) return true;
      }
      return !side.communications.empty();
    };
    Add(CommunicationSheet(base_, comparison_), "communication operations", has(base_),
        has(comparison_));
  }

  // Whether operators are to be compared instead: one side has no modules, or nobody asked for
  // them.
  bool AddModules(bool is_wanted) {
    if (!is_wanted) return false;
    if (options_.disable_module || base_.modules.empty() || comparison_.modules.empty()) {
      return true;
    }
    const std::vector<ModulePair> pairs = MatchModules(*trees_.base, *trees_.comparison, options_);
    Add(ModuleStatisticSheet(base_, comparison_, pairs), "calls of modules", true, true);
    if (!options_.disable_details) {
      Add(ModuleSheet(base_, comparison_, pairs), "calls of modules", true, true);
    }
    return false;
  }

  void AddOperators() {
    const bool base_has = !base_.ops.empty();
    const bool comparison_has = !comparison_.ops.empty();
    Add(OperatorStatisticSheet(base_, comparison_, pairs_), "operators", base_has, comparison_has);
    if (options_.disable_details) return;
    Add(OperatorSheet(base_, comparison_, pairs_), "operators", base_has, comparison_has);
  }

  void AddMemory() {
    const bool base_has = !base_.blocks.empty();
    const bool comparison_has = !comparison_.blocks.empty();
    if (!base_has || !comparison_has) {
      Notice(Concat(base_has         ? "the comparison side lacks"
                    : comparison_has ? "the base side lacks"
                                     : "both sides lack",
                    " allocations of operators (recorded with profile_memory)"));
    }
    if (!base_has && !comparison_has) return;
    Add(MemoryStatisticSheet(base_, comparison_, pairs_), "operators", base_has, comparison_has);
    if (options_.disable_details) return;
    Add(MemorySheet(base_, comparison_, pairs_), "operators", base_has, comparison_has);
  }

  void AddApi() {
    Add(ApiSheet(base_, comparison_), "operators", !base_.ops.empty(), !comparison_.ops.empty());
  }

  void AddKernels() {
    const auto has = [](const Side& side) {
      for (const Kernel& kernel : side.kernels) {
        if (kernel.core != kNone && kernel.type != kNone) return true;
      }
      return false;
    };
    Add(options_.use_kernel_type ? KernelTypeSheet(base_, comparison_)
                                 : KernelSheet(base_, comparison_),
        "kernels with a type", has(base_), has(comparison_));
  }

  const Options& options_;
  const int threads_;
  const Side& base_;
  const Side& comparison_;
  const Side& all_base_;
  const Side& all_comparison_;
  const BothTrees trees_;
  std::vector<OpPair> pairs_;
  Report report_;
};

class ComparedTables final : public store::MadeTables {
 public:
  ComparedTables(Request request, job::NoticeSink notify)
      : request_(std::move(request)), notify_(std::move(notify)) {
    for (const store::ResultInfo* result : Results()) tables_.push_back(*result);
  }

  std::span<const store::ResultInfo> tables() const override { return tables_; }

  Status Fill(const store::ResultInfo& table, store::RowSink& rows) const override {
    SONDE_ASSIGN_OR_RETURN(const std::vector<Sheet>* sheets, Made());
    for (const Sheet& sheet : *sheets) {
      if (ResultOf(sheet).name == table.name) WriteRows(sheet, rows);
    }
    return {};
  }

 private:
  Result<const std::vector<Sheet>*> Made() const {
    const std::scoped_lock lock(mutex_);  // two that want them make them once
    if (!sheets_) {
      SONDE_ASSIGN_OR_RETURN(const Sides sides, Load(request_, notify_));
      sheets_ = ResultSheets(Judge(*sides.all_base, *sides.all_comparison));
    }
    return &*sheets_;
  }

  const Request request_;
  const job::NoticeSink notify_;
  std::vector<store::ResultInfo> tables_;
  mutable std::mutex mutex_;
  mutable std::optional<std::vector<Sheet>> sheets_;
};

}  // namespace

Result<Report> Compare(const Request& request, const job::NoticeSink& notify) {
  SONDE_ASSIGN_OR_RETURN(const Sides sides, Load(request, notify));
  Report report = Comparer(request, sides).Run();
  if (report.sheets.empty() && report.judgement.requests.empty()) {
    return base::NotFoundError(
        Concat("there is nothing that both sides hold: ", base::Join(report.notices, "; ")));
  }
  return report;
}

std::shared_ptr<const store::MadeTables> MakeTables(Request request, job::NoticeSink notify) {
  return std::make_shared<ComparedTables>(std::move(request), std::move(notify));
}

}  // namespace sonde::compare

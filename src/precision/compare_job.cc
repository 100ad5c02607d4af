#include "precision/compare_job.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/host/yaml_file.h"
#include "base/strings.h"
#include "precision/analysis_over_ranks.h"
#include "precision/cause/other_ranks.h"
#include "precision/compare/compare.h"
#include "precision/compare_finding.h"
#include "precision/dump/dump_folder.h"
#include "precision/dump/dump_tree.h"
#include "precision/engines/engine_pairs.h"
#include "precision/output/result_store.h"
#include "precision/output/result_table.h"
#include "precision/output/row_causes.h"
#include "precision/tensor/calibration.h"
#include "report/csv_files.h"
#include "report/text_sheets.h"
#include "report/time_stamp.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

std::string TensorFolder(const std::string& dump_path) {
  return JoinPath(base::DirName(dump_path), "dump_tensor_data");
}

// One comparison to make: two files and the name of the result.
struct Task {
  std::string target;
  std::string golden;
  std::string folder;  // below the output path
  std::string suffix;  // "_rank0", ""
  int64_t step = 0;
  int64_t rank = 0;
};

// A pair while it is compared.
struct Work {
  Status status;
  DumpPair pair;
  Comparison comparison;
  MappingUse mapping_use;
  std::unique_ptr<RankFinding> finding;  // of level L0 and several ranks
};

// Small dumps are compared side by side: together no more text than this at a time.
constexpr uint64_t kBytesAtATime = uint64_t{64} << 20U;
constexpr size_t kPairsPerThread = 8;

class CompareRun {
 public:
  explicit CompareRun(const CompareOptions& options)
      : options_(options),
        stamp_(report::TimeStamp()),
        analysis_(options.output_path, options.reference_summary) {}

  Result<CompareOutcome> Run();

 private:
  Status LoadExtras();
  Status StoreRows(const Task& task, const DumpFolder& target, const FirstCause& cause,
                   Comparison* comparison);
  Status WriteCauseTable(const Task& task, const Comparison& comparison,
                         PairOutcome* outcome) const;
  bool IsByCause() const { return !options_.reference_summary && options_.engine == Engine::kNone; }
  void MakeTasks(const PairedTrees& trees, bool ranks_are_folders);
  void AddRank(const RankPair& pair, bool with_suffix);
  size_t CountAtATime(size_t first) const;
  void CompareSome(std::span<const Task> tasks, std::span<PairOutcome> outcomes);
  Status Load(const Task& task, Work* work, PairOutcome* outcome);
  void FindCauses(std::span<const Task> tasks, std::span<Work> works,
                  std::span<PairOutcome> outcomes, base::TaskGroup* background);
  Status Conclude(const Task& task, const Work& work, PairOutcome* outcome) const;
  Status Finish(const Task& task, Work* work, PairOutcome* outcome);
  Result<Comparison> CompareDumps(const Task& task, Work* work, PairOutcome* outcome) const;
  Result<Comparison> CompareEngines(const Task& task, const DumpFolder& target,
                                    const DumpFolder& golden, Mode mode,
                                    PairOutcome* outcome) const;
  Status CompareTensors(const Task& task, Comparison* comparison, PairOutcome* outcome) const;
  Status WriteMapping(const Task& task, const PairingSetup& setup, PairOutcome* outcome) const;
  Status WriteTable(const Task& task, const Comparison& comparison, const DumpFolder& target,
                    PairOutcome* outcome) const;
  Status WriteSummary(const Task& task, const Comparison& comparison, const DumpFolder& target,
                      PairOutcome* outcome) const;
  void FindCause(const Task& task, Work* work, PairOutcome* outcome);
  void WriteCauses(CompareOutcome* outcome);
  std::string OutputPath(const Task& task, std::string_view name,
                         std::string_view extension) const {
    return JoinPath(JoinPath(options_.output_path, task.folder),
                    Concat(name, task.suffix, "_", stamp_, extension));
  }

  const CompareOptions& options_;
  const std::string stamp_;
  std::vector<Task> tasks_;
  std::unique_ptr<Calibration> calibration_;
  std::vector<UserMetric> metrics_;
  std::vector<SqlMetric> sql_metrics_;
  std::string store_path_;
  std::unique_ptr<ResultStore> store_;  // when asked for, and for metrics in SQL
  AnalysisOverRanks analysis_;
  std::map<int64_t, std::optional<StepBefore>> before_;  // by rank, one for each
  MappingUse mapping_use_;                               // of all pairs: stages have other layers
  std::map<std::string, std::vector<RankFinding>> findings_;  // by step folder; of level L0
};

void CompareRun::AddRank(const RankPair& pair, bool with_suffix) {
  Task task;
  task.folder = pair.target.step_name;
  task.step = pair.target.step;
  task.rank = std::max<int64_t>(pair.target.rank, 0);
  if (with_suffix) task.suffix = Concat("_", pair.target.rank_name);
  bool found = false;
  for (const char* file : {"dump.json", "debug.json"}) {
    task.target = JoinPath(pair.target.path, file);
    task.golden = JoinPath(pair.golden.path, file);
    if (base::PathExists(task.target) && base::PathExists(task.golden)) {
      tasks_.push_back(task);
      found = true;
    }
  }
  if (found) return;
  // Neither pair is complete: loading reports which file is missing.
  const bool debug = base::PathExists(JoinPath(pair.target.path, "debug.json"));
  task.target = JoinPath(pair.target.path, debug ? "debug.json" : "dump.json");
  task.golden = JoinPath(pair.golden.path, debug ? "debug.json" : "dump.json");
  tasks_.push_back(task);
}

void CompareRun::MakeTasks(const PairedTrees& trees, bool ranks_are_folders) {
  for (const RankPair& pair : trees.pairs) {
    if (base::IsDirectory(pair.target.path)) {
      AddRank(pair, ranks_are_folders);
    } else {
      tasks_.push_back({pair.target.path, pair.golden.path, "", "", 0, 0});
    }
  }
}

Status CompareRun::LoadExtras() {
  if (!options_.calibration_path.empty()) {
    SONDE_ASSIGN_OR_RETURN(calibration_, Calibration::Load(options_.calibration_path));
  }
  for (const std::string& path : options_.metric_paths) {
    SONDE_ASSIGN_OR_RETURN(UserMetric metric, UserMetric::Load(path));
    metrics_.push_back(std::move(metric));
  }
  for (const std::string& text : options_.sql_metrics) {
    SONDE_ASSIGN_OR_RETURN(SqlMetric metric, ParseSqlMetric(text));
    sql_metrics_.push_back(std::move(metric));
  }
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(options_.output_path));
  if (!options_.store && sql_metrics_.empty()) return Status::Ok();
  store_path_ = JoinPath(options_.output_path, Concat("compare_result_", stamp_, ".duckdb"));
  SONDE_ASSIGN_OR_RETURN(store_, ResultStore::Create(store_path_));
  return Status::Ok();
}

// The rows into the store, and the user's SQL metrics out of it.
Status CompareRun::StoreRows(const Task& task, const DumpFolder& target, const FirstCause& cause,
                             Comparison* comparison) {
  if (store_ == nullptr) return Status::Ok();
  const std::vector<RowCause> causes =
      IsByCause() ? RowCausesOf(*comparison, cause) : std::vector<RowCause>();
  SONDE_RETURN_IF_ERROR(
      store_->Add(ResultTable(*comparison, target.stack.get()),
                  {task.step, task.rank, target.construct.get(), target.stack.get()}, causes));
  for (const SqlMetric& metric : sql_metrics_) {
    const std::vector<std::string> columns = ResultTable(*comparison, nullptr).columns();
    if (std::find(columns.begin(), columns.end(), metric.name) != columns.end()) {
      return base::InvalidArgumentError(
          Concat("the metric '", metric.name, "' has the name of another column"));
    }
    SONDE_ASSIGN_OR_RETURN(std::vector<std::string> cells, store_->Evaluate(metric));
    comparison->extra_columns.push_back({metric.name, std::move(cells)});
  }
  return Status::Ok();
}

Status CompareRun::WriteMapping(const Task& task, const PairingSetup& setup,
                                PairOutcome* outcome) const {
  if (setup.data_pairs.empty()) return Status::Ok();
  const std::string path = OutputPath(task, "data_mapping", ".yaml");
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(path))));
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, base::YamlOfPairs(setup.data_pairs)));
  outcome->files.push_back(path);
  return Status::Ok();
}

// Refuses a metric that is called like a column of the table.
Status CheckMetricNames(const std::vector<UserMetric>& metrics, const Comparison& comparison) {
  const std::vector<std::string> columns = ResultTable(comparison, nullptr).columns();
  std::vector<std::string> seen;
  for (const UserMetric& metric : metrics) {
    const auto taken = [&metric](const std::string& name) { return name == metric.name(); };
    if (std::any_of(columns.begin(), columns.end(), taken) ||
        std::any_of(seen.begin(), seen.end(), taken) || metric.name() == "NPU_Stack_Info") {
      return base::InvalidArgumentError(
          Concat("the metric '", metric.name(), "' has the name of another column"));
    }
    seen.push_back(metric.name());
  }
  return Status::Ok();
}

Result<Comparison> CompareRun::CompareDumps(const Task& task, Work* work,
                                            PairOutcome* outcome) const {
  const DumpFolder& target = work->pair.target;
  const DumpFolder& golden = work->pair.golden;
  SONDE_ASSIGN_OR_RETURN(const Mode mode, DecideMode(*target.dump, *golden.dump));
  static constexpr std::string_view kModes[] = {"statistics", "tensor", "md5"};
  outcome->mode = kModes[static_cast<size_t>(mode)];
  if (options_.engine != Engine::kNone) return CompareEngines(task, target, golden, mode, outcome);
  SONDE_ASSIGN_OR_RETURN(PairingSetup setup,
                         SetUpPairing(options_.mapping, *target.dump, *target.construct,
                                      *golden.dump, *golden.construct));
  setup.options.fuzzy = options_.fuzzy_match;
  work->mapping_use = std::move(setup.use);
  outcome->notes.insert(outcome->notes.end(), setup.notes.begin(), setup.notes.end());
  SONDE_RETURN_IF_ERROR(WriteMapping(task, setup, outcome));
  // Tensors are judged by their statistics where the first difference is looked for.
  const Mode pairing_mode =
      options_.analyze_difference && mode == Mode::kTensor ? Mode::kStatistics : mode;
  Comparison comparison = PairAndCompare(*target.dump, *golden.dump, pairing_mode, setup.options);
  SONDE_RETURN_IF_ERROR(CompareTensors(task, &comparison, outcome));
  return comparison;
}

Result<Comparison> CompareRun::CompareEngines(const Task& task, const DumpFolder& target,
                                              const DumpFolder& golden, Mode mode,
                                              PairOutcome* outcome) const {
  if (options_.mapping.any() || options_.fuzzy_match) {
    return base::InvalidArgumentError(
        "--consistent_check has its own mapping; leave -fm, -cm, -am, -dm and -lm out");
  }
  // A workbook shows the names of one cell below each other.
  SONDE_ASSIGN_OR_RETURN(Comparison comparison,
                         PairEngines(*target.dump, *golden.dump, mode, options_.engine,
                                     options_.xlsx ? ";\n" : ";  "));
  SONDE_RETURN_IF_ERROR(CompareTensors(task, &comparison, outcome));
  return comparison;
}

Status CompareRun::CompareTensors(const Task& task, Comparison* comparison,
                                  PairOutcome* outcome) const {
  if (comparison->mode != Mode::kTensor) return Status::Ok();
  SONDE_RETURN_IF_ERROR(CheckMetricNames(metrics_, *comparison));
  TensorSource source;
  source.target_folder = TensorFolder(task.target);
  source.golden_folder = TensorFolder(task.golden);
  source.metrics = metrics_;
  source.join_files = options_.engine != Engine::kNone;
  if (calibration_ != nullptr) {
    source.transform = [this](Tensor tensor, const std::string& name, bool is_target) {
      return calibration_->Apply(std::move(tensor), name, is_target);
    };
  }
  outcome->tensors = FillTensorMetrics(source, comparison);
  JudgeAll(comparison);
  if (options_.log_tensors) outcome->log = TensorLog(*comparison);
  return Status::Ok();
}

Status CompareRun::WriteTable(const Task& task, const Comparison& comparison,
                              const DumpFolder& target, PairOutcome* outcome) const {
  const ResultTable table(comparison, target.stack.get());
  const bool debug = target.dump->level() == "debug";
  const std::string_view name = debug ? "debug_compare_result" : "compare_result";
  const std::string path = OutputPath(task, name, "");
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(path))));
  std::vector<std::string> files;
  if (options_.xlsx) {
    files.push_back(path + ".xlsx");
    SONDE_RETURN_IF_ERROR(report::WriteXlsx(table, files.back()));
  } else {
    SONDE_ASSIGN_OR_RETURN(files, report::WriteCsv(table, path));
  }
  outcome->files.insert(outcome->files.begin(), files.begin(), files.end());
  return Status::Ok();
}

Status CompareRun::WriteCauseTable(const Task& task, const Comparison& comparison,
                                   PairOutcome* outcome) const {
  const FirstCause& cause = outcome->finding.cause;
  if (!IsByCause() || (!cause.IsFinding() && cause.judged.empty())) return Status::Ok();
  outcome->files.push_back(OutputPath(task, "compare_cause", ".csv"));
  return WriteRowCauses(comparison, RowCausesOf(comparison, cause), outcome->files.back());
}

Status CompareRun::WriteSummary(const Task& task, const Comparison& comparison,
                                const DumpFolder& target, PairOutcome* outcome) const {
  outcome->summary = Summarize(comparison, target.construct.get());
  if (IsByCause()) {
    outcome->cause_rows =
        CauseRows(comparison, outcome->finding.cause);  // the rest when all ranks are known
  } else {
    outcome->summary_text = SummaryText(comparison, outcome->summary);
  }
  outcome->files.push_back(OutputPath(task, "advisor", ".txt"));
  return base::WriteFileAtomically(outcome->files.back(),
                                   AdviceText(Advise(comparison, outcome->summary)));
}

// What the steps before of the same rank show must be there.
void CompareRun::FindCause(const Task& task, Work* work, PairOutcome* outcome) {
  // Rows of two engines are made of several, and have no calls of their own.
  if (!IsByCause()) return;
  const DumpPair& pair = work->pair;
  const Comparison& comparison = work->comparison;
  const bool by_name = !options_.mapping.any() && !comparison.cross_framework;
  const Alignment alignment =
      by_name ? AlignCalls(*pair.target.dump, *pair.golden.dump, pair.target.construct.get(),
                           pair.golden.construct.get())
              : AlignmentOf(comparison);
  std::optional<StepBefore>& before = before_.find(task.rank)->second;
  const bool follows = before.has_value() && before->step < task.step;
  PairFinding& finding = outcome->finding;
  finding =
      FindingOfPair(pair, comparison, alignment,
                    {task.step, task.rank, TensorFolder(task.target), TensorFolder(task.golden)},
                    follows ? &*before : nullptr);
  if (!task.suffix.empty() && pair.target.dump->level() == "L0") {
    work->finding = std::make_unique<RankFinding>(
        RankFindingOf(task.rank, *pair.target.dump, alignment, &finding.cause));
  }
  const StepBefore last = before.value_or(StepBefore());
  before = {task.step, std::max(last.rounding, finding.cause.largest_relative),
            last.differs || finding.cause.IsFinding(), alignment.other_optimizer};
}

// How many pairs from `first` on are compared side by side; 1 where dumps are large.
size_t CompareRun::CountAtATime(size_t first) const {
  const size_t most = static_cast<size_t>(base::AvailableThreads()) * kPairsPerThread;
  uint64_t bytes = 0;
  size_t count = 0;
  for (; count < most && first + count < tasks_.size(); ++count) {
    for (const std::string* path : {&tasks_[first + count].target, &tasks_[first + count].golden}) {
      bytes += base::FileSize(*path).value_or(0);  // one that is not there is reported by loading
    }
    if (bytes > kBytesAtATime) break;
  }
  return std::max<size_t>(count, 1);
}

Status CompareRun::Load(const Task& task, Work* work, PairOutcome* outcome) {
  outcome->target = task.target;
  outcome->golden = task.golden;
  SONDE_ASSIGN_OR_RETURN(
      work->pair, LoadDumpPair(task.target, options_.stack_path, task.golden, &outcome->notes));
  SONDE_ASSIGN_OR_RETURN(work->comparison, CompareDumps(task, work, outcome));
  return Status::Ok();
}

// The ranks side by side, the steps of each in order: a step is judged by the one before.
void CompareRun::FindCauses(std::span<const Task> tasks, std::span<Work> works,
                            std::span<PairOutcome> outcomes, base::TaskGroup* background) {
  for (const auto& [rank, before] : before_) {
    background->Run([this, tasks, works, outcomes, rank = rank] {
      for (size_t i = 0; i < tasks.size(); ++i) {
        if (tasks[i].rank == rank && works[i].status.ok()) {
          FindCause(tasks[i], &works[i], &outcomes[i]);
        }
      }
    });
  }
}

Status CompareRun::Conclude(const Task& task, const Work& work, PairOutcome* outcome) const {
  SONDE_RETURN_IF_ERROR(WriteCauseTable(task, work.comparison, outcome));
  outcome->finding.cause.judged = {};  // of many pairs only the sentence is kept
  return WriteSummary(task, work.comparison, work.pair.target, outcome);
}

// What the pairs share, one at a time.
Status CompareRun::Finish(const Task& task, Work* work, PairOutcome* outcome) {
  mapping_use_.Merge(work->mapping_use);
  if (work->finding != nullptr) findings_[task.folder].push_back(std::move(*work->finding));
  if (!work->status.ok() || !options_.analyze_difference) return work->status;
  Task named = task;
  if (named.suffix.empty()) named.suffix = Concat("_rank", std::to_string(task.rank));
  outcome->files.push_back(OutputPath(named, "compare_result", ".json"));
  return analysis_.Keep({task.folder, task.rank, outcome->files.back()}, std::move(work->pair),
                        std::move(work->comparison), &outcome->finding.cause);
}

void CompareRun::CompareSome(std::span<const Task> tasks, std::span<PairOutcome> outcomes) {
  std::vector<Work> works(tasks.size());
  const auto for_each = [&](const std::function<Status(size_t)>& body) {
    base::ParallelFor(works.size(), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        if (works[i].status.ok()) works[i].status = body(i);
      }
    });
  };
  for_each([&](size_t i) { return Load(tasks[i], &works[i], &outcomes[i]); });
  base::TaskGroup background;
  FindCauses(tasks, works, outcomes, &background);
  if (store_ != nullptr) {  // whose rows have causes, and whose metrics are columns of the table
    background.Wait();
    for (size_t i = 0; i < works.size(); ++i) {
      if (!works[i].status.ok()) continue;
      works[i].status = StoreRows(tasks[i], works[i].pair.target, outcomes[i].finding.cause,
                                  &works[i].comparison);
    }
  }
  // The walk of a rank is one thread's work, the tables' rows are many's.
  for_each([&](size_t i) {
    return WriteTable(tasks[i], works[i].comparison, works[i].pair.target, &outcomes[i]);
  });
  background.Wait();
  for_each([&](size_t i) { return Conclude(tasks[i], works[i], &outcomes[i]); });
  for (size_t i = 0; i < works.size(); ++i) {
    outcomes[i].status = Finish(tasks[i], &works[i], &outcomes[i]);
  }
}

void CompareRun::WriteCauses(CompareOutcome* outcome) {
  for (auto& [folder, findings] : findings_) PutEarliestRankFirst(findings);
  for (PairOutcome& pair : outcome->pairs) {
    if (!pair.status.ok() || !pair.summary_text.empty()) continue;
    pair.summary_text = CauseSummaryText(pair.summary, pair.finding.cause, pair.cause_rows);
  }
}

Result<CompareOutcome> CompareRun::Run() {
  SONDE_ASSIGN_OR_RETURN(const DumpTree target, FindDumps(options_.target_path));
  SONDE_ASSIGN_OR_RETURN(const DumpTree golden, FindDumps(options_.golden_path));
  SONDE_ASSIGN_OR_RETURN(const PairedTrees trees, PairTrees(target, golden));
  SONDE_RETURN_IF_ERROR(LoadExtras());
  MakeTasks(trees, target.granularity != Granularity::kRank);
  CompareOutcome out;
  out.notes = trees.notes;
  out.pairs.resize(tasks_.size());
  for (const Task& task : tasks_) before_[task.rank] = std::nullopt;
  for (size_t i = 0; i < tasks_.size();) {
    const size_t count = CountAtATime(i);
    CompareSome(std::span(tasks_).subspan(i, count), std::span(out.pairs).subspan(i, count));
    i += count;
  }
  const auto is_compared = [](const PairOutcome& pair) { return pair.status.ok(); };
  if (std::none_of(out.pairs.begin(), out.pairs.end(), is_compared)) {
    return out.pairs.front().status;
  }
  const std::vector<std::string> unmet = mapping_use_.Notes();
  out.notes.insert(out.notes.end(), unmet.begin(), unmet.end());
  WriteCauses(&out);
  if (IsByCause()) {
    std::vector<PairFinding> findings;
    for (PairOutcome& pair : out.pairs) {
      pair.finding.is_compared = pair.status.ok();
      findings.push_back(pair.finding);
    }
    out.has_conclusion = true;
    out.conclusion = ConcludeAll(findings);
    if (options_.store) SONDE_RETURN_IF_ERROR(store_->AddFindings(findings, out.conclusion));
  }
  if (options_.store) {
    SONDE_RETURN_IF_ERROR(store_->Publish());
    out.files.push_back(store_path_);
  }
  SONDE_RETURN_IF_ERROR(analysis_.Write(&out.first_differences, &out.files));
  if (calibration_ != nullptr) {
    for (const std::string& warning : calibration_->warnings()) out.notes.push_back(warning);
  }
  return out;
}

}  // namespace

Result<CompareOutcome> RunCompare(const CompareOptions& options) {
  return CompareRun(options).Run();
}

}  // namespace sonde::precision

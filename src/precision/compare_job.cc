#include "precision/compare_job.h"

#include <ctime>
#include <memory>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/compare/compare.h"
#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"
#include "precision/dump/dump_tree.h"
#include "precision/dump/stack_file.h"
#include "precision/output/csv_result.h"
#include "precision/output/result_table.h"
#include "precision/tensor/tensor_comparison.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::JoinPath;

// "20261121153000", local time.
std::string TimeStamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[16] = {};
  std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &local);
  return text;
}

struct LoadedDump {
  std::unique_ptr<DumpFile> dump;
  std::unique_ptr<StackFile> stack;
  std::unique_ptr<ConstructFile> construct;
};

Result<LoadedDump> Load(const std::string& path, const std::string& stack_path) {
  LoadedDump out;
  SONDE_ASSIGN_OR_RETURN(out.dump, DumpFile::Load(path));
  const std::string folder(base::DirName(path));
  const std::string stack = stack_path.empty() ? JoinPath(folder, "stack.json") : stack_path;
  SONDE_ASSIGN_OR_RETURN(out.stack, StackFile::LoadIfPresent(stack));
  SONDE_ASSIGN_OR_RETURN(out.construct,
                         ConstructFile::LoadIfPresent(JoinPath(folder, "construct.json")));
  return out;
}

std::string TensorFolder(const std::string& dump_path) {
  return JoinPath(base::DirName(dump_path), "dump_tensor_data");
}

// One comparison to make: two files and what to call the result.
struct Task {
  std::string target;
  std::string golden;
  std::string folder;  // below the output path
  std::string suffix;  // "_rank0", ""
};

class CompareRun {
 public:
  explicit CompareRun(const CompareOptions& options) : options_(options), stamp_(TimeStamp()) {}

  Result<CompareOutcome> Run();

 private:
  Status MakeTasks(const PairedTrees& trees);
  void AddRank(const RankPair& pair, bool one);
  void RunTask(const Task& task, PairOutcome* outcome);
  Status Compare(const Task& task, PairOutcome* outcome);
  Status Write(const Task& task, const Comparison& comparison, const LoadedDump& target,
               bool debug_level, PairOutcome* outcome);

  const CompareOptions& options_;
  const std::string stamp_;
  std::vector<Task> tasks_;
};

void CompareRun::AddRank(const RankPair& pair, bool one) {
  Task task;
  task.folder = pair.target.step_name;
  if (!one) task.suffix = Concat("_", pair.target.rank_name);
  bool found = false;
  for (const char* file : {"dump.json", "debug.json"}) {
    task.target = JoinPath(pair.target.path, file);
    task.golden = JoinPath(pair.golden.path, file);
    if (base::PathExists(task.target) && base::PathExists(task.golden)) {
      tasks_.push_back(task);
      found = true;
    }
  }
  // Neither pair is complete: let the loading say which file is missing.
  if (!found) {
    const bool debug = base::PathExists(JoinPath(pair.target.path, "debug.json"));
    task.target = JoinPath(pair.target.path, debug ? "debug.json" : "dump.json");
    task.golden = JoinPath(pair.golden.path, debug ? "debug.json" : "dump.json");
    tasks_.push_back(task);
  }
}

Status CompareRun::MakeTasks(const PairedTrees& trees) {
  for (const RankPair& pair : trees.pairs) {
    if (!base::IsDirectory(pair.target.path)) {
      tasks_.push_back({pair.target.path, pair.golden.path, "", ""});
      continue;
    }
    AddRank(pair, pair.target.step_name.empty() && trees.pairs.size() == 1 &&
                      pair.target.path == options_.target_path);
  }
  return Status::Ok();
}

Status CompareRun::Write(const Task& task, const Comparison& comparison, const LoadedDump& target,
                         bool debug_level, PairOutcome* outcome) {
  const std::string folder = JoinPath(options_.output_path, task.folder);
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  const std::string name =
      Concat(debug_level ? "debug_compare_result" : "compare_result", task.suffix, "_", stamp_);
  const ResultTable table(comparison, target.stack.get());
  SONDE_ASSIGN_OR_RETURN(outcome->files, WriteCsv(table, JoinPath(folder, name)));
  outcome->summary = Summarize(comparison, target.construct.get());
  outcome->summary_text = SummaryText(comparison, outcome->summary);
  const std::string advice = JoinPath(folder, Concat("advisor", task.suffix, "_", stamp_, ".txt"));
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(advice, AdviceText(Advise(comparison, outcome->summary))));
  outcome->files.push_back(advice);
  return Status::Ok();
}

Status CompareRun::Compare(const Task& task, PairOutcome* outcome) {
  Result<LoadedDump> target = base::InternalError("not loaded");
  Result<LoadedDump> golden = base::InternalError("not loaded");
  base::TaskGroup loading;
  loading.Run([&] { target = Load(task.target, options_.stack_path); });
  loading.Run([&] { golden = Load(task.golden, ""); });
  loading.Wait();
  SONDE_RETURN_IF_ERROR(target.status());
  SONDE_RETURN_IF_ERROR(golden.status());
  const DumpFile& t = *target->dump;
  const DumpFile& g = *golden->dump;
  SONDE_ASSIGN_OR_RETURN(const Mode mode, DecideMode(t, g));
  PairingOptions pairing;
  pairing.fuzzy = options_.fuzzy_match;
  pairing.renumber_backward = t.level() != "debug";
  SONDE_ASSIGN_OR_RETURN(pairing.cross_framework, DecideCrossFramework(t, g));
  outcome->mode = mode == Mode::kStatistics ? "statistics"
                  : mode == Mode::kTensor   ? "tensor"
                                            : "md5";
  Comparison comparison = PairAndCompare(t, g, mode, pairing);
  if (mode == Mode::kTensor) {
    const TensorSource source = {TensorFolder(task.target), TensorFolder(task.golden), {}};
    outcome->tensors = FillTensorMetrics(source, &comparison);
    JudgeAll(&comparison);
  }
  return Write(task, comparison, *target, t.level() == "debug", outcome);
}

void CompareRun::RunTask(const Task& task, PairOutcome* outcome) {
  outcome->target = task.target;
  outcome->golden = task.golden;
  outcome->status = Compare(task, outcome);
}

Result<CompareOutcome> CompareRun::Run() {
  SONDE_ASSIGN_OR_RETURN(const DumpTree target, FindDumps(options_.target_path));
  SONDE_ASSIGN_OR_RETURN(const DumpTree golden, FindDumps(options_.golden_path));
  SONDE_ASSIGN_OR_RETURN(const PairedTrees trees, PairTrees(target, golden));
  SONDE_RETURN_IF_ERROR(MakeTasks(trees));
  CompareOutcome out;
  out.notes = trees.notes;
  out.pairs.resize(tasks_.size());
  bool any = false;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    RunTask(tasks_[i], &out.pairs[i]);
    any = any || out.pairs[i].status.ok();
  }
  if (!any) return out.pairs.front().status;
  return out;
}

}  // namespace

Result<CompareOutcome> RunCompare(const CompareOptions& options) {
  return CompareRun(options).Run();
}

}  // namespace sonde::precision

#include "cluster/statements/mode_tables.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "base/strings.h"

namespace sonde::cluster {
namespace {

using base::Concat;

std::vector<ModeTable> FindModeTables() {
  std::vector<ModeTable> tables;
  for (const Mode* mode : Modes()) {
    if (mode->writes_files) continue;
    for (const TableInfo* info : mode->tables) {
      const auto known =
          std::ranges::find_if(tables, [&](const ModeTable& table) { return table.info == info; });
      if (known == tables.end()) {
        tables.push_back({info, {mode}});
      } else {
        known->modes.push_back(mode);
      }
    }
  }
  for (ModeTable& table : tables) {
    std::ranges::stable_sort(table.modes, {}, [](const Mode* mode) { return mode->tables.size(); });
  }
  return tables;
}

bool ForwardFound(std::span<const Table> tables, const TableInfo& wanted, store::RowSink& rows) {
  const auto found =
      std::ranges::find_if(tables, [&](const Table& table) { return &table.info() == &wanted; });
  if (found == tables.end()) return false;
  WriteRows(*found, rows);
  return true;
}

// What --baseline of a statement stands for.
bool IsOtherRun(const ModeOption* option) {
  return option->kind == OptionKind::kPath && option->is_of_reduce;
}

bool ComparesRuns(const Mode& mode) { return std::ranges::any_of(mode.options, &IsOtherRun); }

class TablesOfModes final : public store::MadeTables {
 public:
  TablesOfModes(RunMode run, job::NoticeSink complain)
      : run_(std::move(run)), complain_(std::move(complain)) {
    for (const ModeTable& table : ModeTables()) tables_.push_back(table.info->result);
  }

  std::span<const store::ResultInfo> tables() const override { return tables_; }

  Status Fill(const store::ResultInfo& wanted, store::RowSink& rows) const override {
    const auto& all = ModeTables();
    const auto found = std::ranges::find_if(
        all, [&](const ModeTable& table) { return table.info->result.name == wanted.name; });
    if (found == all.end()) {
      return base::InternalError(Concat("no mode makes the table ", wanted.name));
    }
    std::vector<Status> failures;
    for (const Mode* mode : found->modes) {
      const auto outcome = OutcomeOf(*mode);
      if (!outcome.ok()) failures.push_back(outcome.status());
      if (outcome.ok() && ForwardFound((*outcome)->tables, *found->info, rows)) return {};
    }
    return failures.size() < found->modes.size() ? Status() : failures.front();
  }

 private:
  // Of a mode that failed nothing is kept.
  Result<const Outcome*> OutcomeOf(const Mode& mode) const {
    const std::scoped_lock lock(mutex_);
    const auto known = outcomes_.find(&mode);
    if (known != outcomes_.end()) return &known->second;
    auto result = run_(mode);
    if (!result.ok()) return std::move(result).status().Annotate(mode.name);
    for (const std::string& line : job::DescribeFailures(result->failures)) {
      complain_(Concat(line, "; it is missing from the tables of ", mode.name));
    }
    return &outcomes_.emplace(&mode, std::move(result->outcome)).first->second;
  }

  const RunMode run_;
  const job::NoticeSink complain_;
  std::vector<store::ResultInfo> tables_;
  mutable std::mutex mutex_;
  mutable std::map<const Mode*, Outcome> outcomes_;
};

}  // namespace

const std::vector<ModeTable>& ModeTables() {
  static const std::vector<ModeTable> tables = FindModeTables();
  return tables;
}

std::shared_ptr<const store::MadeTables> MakeModeTables(RunMode run, job::NoticeSink complain) {
  return std::make_shared<TablesOfModes>(std::move(run), std::move(complain));
}

RunMode RunOverFolder(FolderRequest request) {
  return [request = std::move(request)](const Mode& mode) -> Result<RunResult> {
    if (request.base_path.empty() && ComparesRuns(mode)) {
      return base::InvalidArgumentError(
          "its tables compare two runs: name the other one with --baseline");
    }
    SONDE_ASSIGN_OR_RETURN(
        const job::Job found,
        job::FindWholeJob({request.path}, {.max_depth = kFolderDepth, .allow = {}}));
    SONDE_ASSIGN_OR_RETURN(const RankChoice choice, ChooseRanks(found, {}));
    for (const std::string& notice : choice.notices) request.notify(notice);
    ModeOptions options;
    for (const ModeOption* option : mode.options) {
      if (IsOtherRun(option)) options.values[std::string(option->name)] = request.base_path;
    }
    options.profiling_path = request.path;
    RunOptions run;
    run.threads = request.threads;
    run.notify = request.notify;
    SONDE_ASSIGN_OR_RETURN(auto result, Run(mode, choice.ranks, options, run));
    for (const std::string& notice : result.outcome.notices) request.notify(notice);
    return result;
  };
}

RunMode RunOverStore(store::StoreFile file, int threads) {
  return [file = std::move(file), threads](const Mode& mode) {
    const store::TraceLabel& label = file.traces.front();
    Rank rank;
    rank.number = std::max(label.rank, 0);
    rank.trace.number = label.trace;
    rank.trace.rank = label.rank;
    rank.trace.source.path = label.path;
    RunOptions options;
    options.threads = threads;
    options.over = [&](const std::vector<job::Trace>& /*it*/, const recipes::Needs& needs,
                       const MapOne& map, const job::NoticeSink& /*one clock*/) {
      return job::RunOverTraces(
          std::span(&file, 1), needs, {.threads = threads},
          [&](const job::TraceInHand& trace, size_t /*place*/) { return map(trace); });
    };
    return Run(mode, {rank}, {}, options);
  };
}

std::string ModeTablesMarkdown() {
  std::string out =
      "# Tables of cluster modes\n\n"
      "Made from the declarations in `src/cluster`; do not edit.\n\n"
      "What the modes of `sonde cluster` ([cluster.md](../cluster.md)) find out about all ranks\n"
      "of a job. Any statement on a job may name these tables in addition to those of its traces\n"
      "([store.md](store.md)); the mode runs when it does. In `cluster_analysis.db` a table and\n"
      "its columns have the names in parentheses.\n";
  for (const ModeTable& table : ModeTables()) {
    const store::ResultInfo& result = table.info->result;
    out += Concat("\n## ", result.name, "\n\n", result.meaning, ". Mode `",
                  table.modes.front()->name, "` (", table.info->reference_name, ").\n\n");
    out += "| Column | Type | Unit | Meaning |\n|---|---|---|---|\n";
    for (size_t i = 0; i < result.columns.size(); ++i) {
      const store::ResultColumnInfo& column = result.columns[i];
      out += Concat("| `", column.name, "` (", table.info->names[i].db, ") | ",
                    store::ResultSqlType(column.type), " | ", column.unit, " | ", column.meaning,
                    " |\n");
    }
  }
  return out;
}

std::string ModeTablesText() {
  std::vector<const store::ResultInfo*> results;
  for (const ModeTable& table : ModeTables()) results.push_back(&table.info->result);
  return store::ResultsText(results);
}

}  // namespace sonde::cluster

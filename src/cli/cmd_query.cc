// `sonde query`: SQL on a trace, read-only.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cli/buckets.h"
#include "cli/command.h"
#include "cli/job_notices.h"
#include "cli/line_editor.h"
#include "cli/number_checks.h"
#include "cli/output_file.h"
#include "cli/query_output.h"
#include "cluster/statements/mode_tables.h"
#include "compare/compare.h"
#include "compare/difference/tables.h"
#include "job/job.h"
#include "job/open.h"
#include "job/results.h"
#include "recipes/registry.h"
#include "store/joint.h"
#include "store/lake.h"
#include "store/own_tables.h"
#include "store/schema.h"
#include "store/sql_text.h"

namespace sonde::cli {
namespace {

using base::Concat;

struct QueryOptions {
  std::string path;
  std::string sql;
  std::string format = "table";
  std::string output;
  std::string baseline;
  bool schema = false;
  store::JointOptions statements = {};
};

constexpr std::string_view kPromptHelp =
    "Type SQL and end it with ';'. Commands, alone on a line:\n"
    "  .tables   names of the tables\n"
    "  .schema   tables with their columns\n"
    "  .help     this text\n"
    "  .quit     leave (also Ctrl+D)\n";

bool IsStoreFile(const std::string& path) {
  return base::IsRegularFile(path) && path.ends_with(".duckdb");
}

// Its runs say whether the data has faults: the tables of all ranks would have to be opened.
Result<job::OpenedJob> OpenLake(const QueryOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const auto runs, store::ListLake(options.path));
  int64_t faulty = 0;
  for (const store::LakeRun& run : runs) faulty += run.faulty;
  if (faulty > 0) {
    PrintNotice(Concat("the data of ", base::CountOf(faulty, "trace"),
                       " has faults; the table import_issue explains them"));
  }
  job::OpenedJob opened;
  store::JointOptions statements = options.statements;
  statements.threads = base::AvailableThreads();
  SONDE_ASSIGN_OR_RETURN(opened.store, store::OpenLake(options.path, statements));
  return opened;
}

Result<job::OpenedJob> Open(const QueryOptions& options) {
  const std::string& path = options.path;
  const job::OpenOptions opening{.threads = base::AvailableThreads(),
                                 .notify = PrintNotice,
                                 .complain = PrintError,
                                 .shows_progress = true,
                                 .is_thrifty = !options.statements.reads_files,
                                 .statements = options.statements};
  if (IsStoreFile(path)) return job::OpenStoreFile(path, opening);
  if (store::IsLake(path)) return OpenLake(options);
  SONDE_ASSIGN_OR_RETURN(const job::Job found, job::FindWholeJob({path}, {.takes_all = true}));
  if (found.traces.size() > 1) PrintNotice(Concat("found in '", path, "': ", job::Counted(found)));
  NotifyOfJob(found);
  return job::Open(found, opening);
}

// Prints one line about faults of the data at every opening, so that users know before they trust
// the numbers. Prints nothing where there are none.
Status NotifyOfIssues(const store::JointStore& store) {
  SONDE_ASSIGN_OR_RETURN(
      const store::ResultTable issues,
      store.Query("SELECT code, sum(count)::BIGINT FROM import_issue WHERE severity <> 'info' "
                  "GROUP BY severity, code ORDER BY severity, code"));
  std::string wrong;
  for (size_t row = 0; row < issues.rows(); ++row) {
    wrong += Concat(wrong.empty() ? "" : ", ", issues.Text(0, row), " (",
                    std::to_string(issues.Int(1, row)), ")");
  }
  if (wrong.empty()) return {};
  PrintNotice(Concat("the data has faults: ", wrong, "; the table import_issue explains them"));
  return {};
}

QueryFormat FormatOf(const std::string& name) {
  if (name == "csv") return QueryFormat::kCsv;
  if (name == "csv-raw") return QueryFormat::kRawCsv;
  return name == "json" ? QueryFormat::kJson : QueryFormat::kTable;
}

// The database's message does not suggest a remedy.
Status WithRemedy(Status status) {
  if (status.ok() || status.message().find("disabled") == std::string::npos) return status;
  return std::move(status).Annotate(
      "statements read nothing but the trace, unless --read-files is given");
}

bool Names(const Status& status, std::string_view table) {
  return status.message().find(Concat("with name ", table, " ")) != std::string::npos;
}

// Results that are worked out from recordings, which a lake does not hold.
bool IsWorkedOut(const Status& status) {
  const auto is_named = [&](const store::ResultInfo& result) { return Names(status, result.name); };
  return std::any_of(recipes::Results().begin(), recipes::Results().end(),
                     [&](const store::ResultInfo* result) { return is_named(*result); }) ||
         std::any_of(cluster::ModeTables().begin(), cluster::ModeTables().end(),
                     [&](const auto& table) { return is_named(table.info->result); });
}

// Tables of two traces, asked of one, and results asked of a lake.
Status WithAdvice(Status status, const QueryOptions& options) {
  if (status.ok()) return status;
  for (const store::ResultInfo* result : compare::Results()) {
    if (!options.baseline.empty() || !Names(status, result->name)) continue;
    return std::move(status).Annotate(
        Concat(result->name, " compares two traces: name the other one with --baseline"));
  }
  if (store::IsLake(options.path) && IsWorkedOut(status)) {
    return std::move(status).Annotate(
        "a lake holds the tables of recordings, and not what is worked out from them: ask the "
        "recordings");
  }
  return status;
}

Status RunStatementOf(const store::JointStore& store, const QueryOptions& options) {
  if (options.format == "parquet") {
    return WriteOutputPath(options.output, [&](const std::string& path) {
      return WithRemedy(store.WriteParquet(options.sql, path));
    });
  }
  if (options.format == "xlsx") {
    return WriteOutputPath(options.output, [&](const std::string& path) {
      return WithRemedy(WriteWorkbook(store, options.sql, path));
    });
  }
  const QueryFormat format = FormatOf(options.format);
  const auto write = [&](std::FILE* file) {
    return WithRemedy(WriteQuery(store, options.sql, format, file));
  };
  return options.output.empty() ? write(stdout) : WriteOutput(options.output, write);
}

Status RunStatement(const store::JointStore& store, const QueryOptions& options) {
  return WithAdvice(RunStatementOf(store, options), options);
}

cluster::RunMode ModesOf(const job::OpenedJob& opened, const QueryOptions& options) {
  const int threads = base::AvailableThreads();
  if (IsStoreFile(options.path)) return cluster::RunOverStore(opened.files.front(), threads);
  return cluster::RunOverFolder({.path = options.path,
                                 .base_path = options.baseline,
                                 .threads = threads,
                                 .notify = PrintNotice});
}

// Results of the traces and of cluster modes; with a base also those of comparing them. What a
// table is without is printed, and `is_whole` becomes false.
std::shared_ptr<const store::MadeTables> ResultsOf(const job::OpenedJob& opened,
                                                   const QueryOptions& options,
                                                   std::shared_ptr<std::atomic<bool>> is_whole) {
  const int threads = base::AvailableThreads();
  const job::NoticeSink complain = [is_whole = std::move(is_whole)](std::string_view line) {
    PrintError(line);
    is_whole->store(false);
  };
  std::vector makers{job::MakeResults(opened.files, opened.columns, threads, complain),
                     cluster::MakeModeTables(ModesOf(opened, options), complain)};
  if (!options.baseline.empty()) {
    compare::Request request;
    request.base_paths = {options.baseline};
    request.comparison_paths = {options.path};
    request.threads = threads;
    makers.push_back(compare::MakeTables(std::move(request), PrintNotice));
  }
  return std::make_shared<store::JoinedTables>(std::move(makers));
}

std::string TableNames() {
  std::string names;
  for (const store::TableInfo& table : store::Tables()) names += Concat(table.name, "\n");
  names += "args\ntrace\n";
  for (const store::ResultInfo* result : recipes::Results()) names += Concat(result->name, "\n");
  for (const cluster::ModeTable& table : cluster::ModeTables()) {
    names += Concat(table.info->result.name, "\n");
  }
  return names;
}

std::string SchemaText() {
  return store::SchemaText() + store::JointSchemaText() + store::ResultsText(recipes::Results()) +
         "Of all ranks, by modes of 'sonde cluster':\n" + cluster::ModeTablesText() +
         "With --baseline:\n" + store::ResultsText(compare::Results());
}

// True where the line was a word of the prompt and not SQL.
bool TakeDotCommand(std::string_view line, bool& leave) {
  const std::string_view word = base::Trim(line);
  if (!word.starts_with('.')) return false;
  if (word == ".quit" || word == ".exit") {
    leave = true;
  } else {
    const std::string text = word == ".tables"   ? TableNames()
                             : word == ".schema" ? SchemaText()
                                                 : std::string(kPromptHelp);
    PrintText(text);
  }
  return true;
}

// Lines of standard input; at a terminal with a prompt, and edited where it can do that.
class PromptLines {
 public:
  using State = LineEditor::State;

  State Read(const char* prompt, std::string& line) {
    if (edits_) return terminal_.Read(prompt, line);
    if (::isatty(STDIN_FILENO) == 1) std::fprintf(stderr, "%s", prompt);
    return std::getline(std::cin, line) ? State::kDone : State::kEnd;
  }

 private:
  const bool edits_ = TerminalLines::IsPossible();
  TerminalLines terminal_;
};

// Statements from standard input, each ended by ';' at the end of a line. At a terminal an error is
// shown and the prompt goes on; from a file or pipe it ends the run.
Status Prompt(const store::JointStore& store, QueryOptions options) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (terminal) std::fprintf(stderr, "%s", std::string(kPromptHelp).c_str());
  PromptLines lines;
  std::string line;
  options.sql.clear();
  bool leave = false;
  while (!leave) {
    const auto state = lines.Read(options.sql.empty() ? "sonde> " : "   ... ", line);
    if (state == PromptLines::State::kCancelled) options.sql.clear();
    const bool more = state != PromptLines::State::kEnd;
    if (more && options.sql.empty() && TakeDotCommand(line, leave)) continue;
    if (more) options.sql += line + "\n";
    const std::string_view statement = base::Trim(options.sql);
    if (statement.empty()) options.sql.clear();
    if (!statement.empty() && (!more || store::IsEnded(statement))) {
      const Status status = RunStatement(store, options);
      if (!status.ok() && !terminal) return status;
      if (!status.ok()) PrintError(status.message());
      std::fflush(stdout);
      options.sql.clear();
    }
    leave |= !more;
  }
  return {};
}

// The tables of compared dumps have the columns of their comparison, so they are read from the
// file.
Status PrintSchema(const QueryOptions& options) {
  std::string text = SchemaText();
  if (!options.path.empty()) {
    SONDE_ASSIGN_OR_RETURN(const job::OpenedJob opened, Open(options));
    SONDE_ASSIGN_OR_RETURN(const auto columns, store::OwnColumns(*opened.store));
    std::string table;
    for (const store::OwnColumn& column : columns) {
      if (column.table != table) {
        table = column.table;
        text += Concat(table, ": results of comparing precision dumps, see docs/precision.md\n");
      }
      text += Concat("  ", column.name, " ", column.type, "\n");
    }
  }
  PrintText(text);
  return Status::Ok();
}

Result<int> QueryPath(const Context& context, const QueryOptions& options) {
  if (options.schema) {
    SONDE_RETURN_IF_ERROR(PrintSchema(options));
    return kExitOk;
  }
  if (options.path.empty()) return WrongUsage(context, "PATH is missing");
  if (!options.baseline.empty() && !base::PathExists(options.baseline)) {
    return base::NotFoundError(Concat("there is no '", options.baseline, "'"));
  }
  for (const std::string& path : {options.path, options.baseline}) {
    if (options.baseline.empty() || !store::IsLake(path)) continue;
    return base::InvalidArgumentError(
        Concat("--baseline compares recordings, and '", path, "' is a lake: name the recordings"));
  }
  const bool is_file_only = options.format == "parquet" || options.format == "xlsx";
  if (is_file_only && (options.output.empty() || options.sql.empty())) {
    return WrongUsage(context, Concat("--format ", options.format, " needs SQL and --output FILE"));
  }
  SONDE_ASSIGN_OR_RETURN(const job::OpenedJob opened, Open(options));
  const auto is_whole = std::make_shared<std::atomic<bool>>(opened.is_whole);
  if (!store::IsLake(options.path)) {
    SONDE_RETURN_IF_ERROR(opened.store->Offer(ResultsOf(opened, options, is_whole)));
    SONDE_RETURN_IF_ERROR(NotifyOfIssues(*opened.store));
  }
  SONDE_RETURN_IF_ERROR(options.sql.empty() ? Prompt(*opened.store, options)
                                            : RunStatement(*opened.store, options));
  // The numbers of a part must not pass for those of the whole.
  return *is_whole ? kExitOk : kExitFailure;
}

Result<int> RunQuery(const Context& context, QueryOptions options) {
  options.path = WithoutFileScheme(options.path);
  if (!IsBucket(options.path)) return QueryPath(context, options);
  if (options.sql.empty()) return WrongUsage(context, "what lies in a bucket needs SQL");
  SONDE_ASSIGN_OR_RETURN(const auto bucket, Bucket::Open(context, options.path));
  SONDE_RETURN_IF_ERROR(GetForStatement(*bucket, options.sql, options.statements));
  options.path = bucket->folder();
  return QueryPath(context, options);
}

CommandAction DeclareQuery(CLI::App& app) {
  auto options = std::make_shared<QueryOptions>();
  app.add_option(
      "PATH", options->path,
      "A trace file, a span folder, a store file (trace.duckdb), a folder of several ranks, or a "
      "lake; on this machine or in a bucket (s3://BUCKET/NAME)");
  app.add_option("SQL", options->sql, "One statement (default: a prompt for statements)");
  app.add_option("--format", options->format,
                 "Format of the result; csv puts \"'\" before texts that a spreadsheet would "
                 "run, csv-raw leaves them unchanged")
      ->check(CLI::IsMember({"table", "csv", "csv-raw", "json", "parquet", "xlsx"}))
      ->capture_default_str();
  app.add_option("-o,--output", options->output, "File for the result instead of standard output");
  app.add_option("--baseline", options->baseline,
                 "Another trace: compare_stage, compare_cause, compare_tree, compare_request, "
                 "compare_distribution, compare_memory and compare_call show how PATH differs from "
                 "it, and so do the tables of cluster modes that compare (trace_diff, ...)");
  AddStatementLimits(app, "a statement", options->statements.limits);
  app.add_flag("--read-files", options->statements.reads_files,
               "Let statements read other files, such as FROM 'table.parquet'");
  app.add_flag("--schema", options->schema, "Print the tables and their columns");
  return [options](const Context& context) { return RunQuery(context, *options); };
}

}  // namespace

Command QueryCommand() {
  return {.name = "query",
          .summary = "Query traces with SQL",
          .example =
              "sonde query ./profile/rank0_ascend_pt "
              "'SELECT name, count(*), sum(dur) FROM slice GROUP BY name'\n"
              "sonde query ./profile 'SELECT rank, op_type, sum_ns FROM hccl_per_rank_stats'\n"
              "sonde query ./new --baseline ./old 'SELECT * FROM compare_cause'",
          .declare = &DeclareQuery};
}

}  // namespace sonde::cli

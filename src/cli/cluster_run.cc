#include "cli/cluster_run.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cli/command.h"
#include "job/failures.h"

namespace sonde::cli {
namespace {

using base::Concat;

std::string Sentences(const cluster::Outcome& outcome, std::string_view between) {
  std::vector<std::string> lines;
  for (const recipes::Finding& finding : outcome.findings) {
    lines.push_back(recipes::TextOf(finding, recipes::Language::kEnglish));
  }
  return base::Join(lines, between);
}

void PrintAgentLine(const Result<ClusterDone>& done) {
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  const bool is_whole = done.ok() && done->failures.empty();
  json.BeginObject();
  json.Key("status");
  json.String(is_whole ? "success" : "error");
  json.Key("code");
  json.Int(is_whole ? 0 : 1);
  json.Key("message");
  json.BeginObject();
  if (done.ok() && !done->written.db.empty()) {
    json.Key("db_path");
    json.String(done->written.db);
    json.Key("tables");
    json.BeginArray();
    for (const std::string& table : done->written.tables) json.String(table);
    json.EndArray();
  } else if (done.ok()) {
    json.Key("csv_path");
    json.BeginArray();
    for (const std::string& file : done->written.files) json.String(file);
    json.EndArray();
  }
  if (!is_whole) {
    json.Key("err");
    json.String(done.ok() ? base::Join(done->failures, "; ")
                          : std::string(done.status().message()));
  }
  json.EndObject();
  if (done.ok()) {
    json.Key("suggestion");
    json.String(Sentences(done->result.outcome, " "));
  }
  json.EndObject();
  PrintJson(json.Take());
}

void PrintResult(const ClusterDone& done) {
  const std::string sentences = Sentences(done.result.outcome, "\n");
  if (!sentences.empty()) PrintText(sentences + "\n");
  if (!done.written.tables.empty()) {
    PrintText(Concat(done.written.db, ": ", base::Join(done.written.tables, ", "), "\n"));
  }
  for (const std::string& file : done.written.files) PrintText(file + "\n");
}

// Without those that cannot be, where a mode forgives that.
Result<cluster::OptionValues> CheckedValues(cluster::OptionValues values) {
  for (const cluster::Mode* mode : cluster::Modes()) {
    for (const cluster::ModeOption* option : mode->options) {
      if (!cluster::IsGiven(values, *option)) continue;
      const Status status = cluster::CheckValue(*option, cluster::TextOf(values, *option));
      if (status.ok()) continue;
      const std::string why = Concat(option->name, " ", status.message());
      if (!option->forgives) return base::InvalidArgumentError(why);
      PrintNotice(Concat(why, ": the default is used"));
      values.erase(std::string(option->name));
    }
  }
  return values;
}

}  // namespace

Result<cluster::ModeOptions> ModeOptionsOf(const ClusterOptions& options,
                                           const std::string& folder) {
  cluster::ModeOptions of_mode{.step_id = options.step_id,
                               .values = {},
                               .result_folder = folder,
                               .profiling_path = ClusterPath(options.path)};
  SONDE_ASSIGN_OR_RETURN(of_mode.values, CheckedValues(options.of_mode));
  return of_mode;
}

cluster::RunOptions ClusterRunOptions(bool is_quiet) {
  return {.threads = base::AvailableThreads(), .notify = PrintNotice, .shows_progress = !is_quiet};
}

std::string ClusterResultFolder(const ClusterOptions& options) {
  const std::string output = ClusterPath(options.output.empty() ? options.path : options.output);
  return base::JoinPath(output, "cluster_analysis_output");
}

Status WriteOutcome(const ClusterOptions& options, const cluster::Mode& mode,
                    const std::string& folder, ClusterDone& done) {
  for (const std::string& notice : done.result.outcome.notices) PrintNotice(notice);
  done.failures = job::DescribeFailures(done.result.failures);
  const cluster::Form form = cluster::FormOf(options.export_type, done.result.outcome);
  SONDE_ASSIGN_OR_RETURN(done.written, cluster::Write(mode, done.result.outcome, form, folder));
  return {};
}

Result<int> PrintOutcome(const ClusterOptions& options, const Result<ClusterDone>& done) {
  if (options.agent) {
    PrintAgentLine(done);
    return done.ok() && done->failures.empty() ? kExitOk : kExitFailure;
  }
  if (!done.ok()) return done.status();
  PrintResult(*done);
  for (const std::string& line : done->failures) {
    PrintError(Concat(line, "; it is missing from the results"));
  }
  return done->failures.empty() ? kExitOk : kExitFailure;
}

}  // namespace sonde::cli

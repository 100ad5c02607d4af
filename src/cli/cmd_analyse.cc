// `sonde analyse`: captures -> deliverables, several ranks at a time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/host/progress.h"
#include "base/strings.h"
#include "cli/analyse_rank.h"
#include "cli/analyse_server.h"
#include "cli/analyse_summary.h"
#include "cli/command.h"
#include "exporters/registry.h"

namespace sonde::cli {
namespace {

using base::Concat;
using importers::TraceSource;

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> export_types;
  int max_process_number = 0;  // 0: as many as fit
  std::string output_folder;
  std::optional<bool> data_simplification;
  bool only_missing = false;
};

// A folder above the one that was meant is easily named: say where the traces were found.
void SayWhatLiesDeeper(const std::string& named, const std::vector<TraceSource>& traces) {
  const std::string root = base::AbsolutePath(named);
  std::string first;
  size_t count = 0;
  for (const TraceSource& trace : traces) {
    const std::string path = base::AbsolutePath(trace.path);
    if (path == root || base::DirName(path) == root) continue;
    if (count++ == 0) first = trace.path;
  }
  if (count == 0) return;
  const std::string more = count > 1 ? Concat(" and ", std::to_string(count - 1), " more") : "";
  PrintNotice(Concat("found deeper than '", named, "': ", first, more));
}

// Captures in the order of the paths and names, each once.
Result<std::vector<TraceSource>> FindCaptures(const std::vector<std::string>& paths) {
  std::vector<TraceSource> found;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    SONDE_ASSIGN_OR_RETURN(const auto traces, importers::FindTraces(path));
    if (traces.empty()) return importers::NothingToRead(path);
    SayWhatLiesDeeper(path, traces);
    for (const TraceSource& trace : traces) {
      if (seen.insert(base::AbsolutePath(trace.path)).second) found.push_back(trace);
    }
  }
  return found;
}

// The last `count` parts of a path.
std::string Tail(const std::string& path, size_t count) {
  size_t begin = path.size();
  while (count > 0 && begin > 0) {
    const size_t slash = path.rfind('/', begin - 1);
    begin = slash == std::string::npos ? 0 : slash;
    --count;
  }
  return path.substr(begin == path.size() ? begin : begin + (path[begin] == '/' ? 1 : 0));
}

// Where below `output` the deliverables of each trace go: traces of one name are told apart by as
// many of the folders above them as it takes.
std::vector<std::string> OutputFolders(const std::vector<TraceSource>& traces,
                                       const std::string& output) {
  std::vector<std::string> folders(traces.size(), output);
  if (output.empty()) return folders;
  std::map<std::string, std::vector<size_t>> same;
  for (size_t i = 0; i < traces.size(); ++i) {
    same[Tail(SpanFolder(traces[i].path), 1)].push_back(i);
  }
  for (const auto& [name, twins] : same) {
    std::set<std::string> spans;  // one may have been named twice: as a whole and by a part of it
    for (const size_t i : twins) spans.insert(SpanFolder(traces[i].path));
    std::set<std::string> tails;
    for (size_t parts = 1; tails.size() < spans.size(); ++parts) {
      tails.clear();
      for (const size_t i : twins) {
        const std::string tail = Tail(SpanFolder(traces[i].path), parts);
        tails.insert(tail);
        folders[i] = tail == name ? output : base::JoinPath(output, base::DirName(tail));
      }
    }
  }
  return folders;
}

// Ranks first by number, then by name; those without a rank last.
void SortByRank(std::vector<AnalysedRank>& ranks) {
  std::stable_sort(ranks.begin(), ranks.end(), [](const AnalysedRank& a, const AnalysedRank& b) {
    const int64_t x = a.summary.rank.value_or(INT64_MAX);
    const int64_t y = b.summary.rank.value_or(INT64_MAX);
    return x != y ? x < y : a.span_name < b.span_name;
  });
}

// After the ranks, whose captures a session shares.
size_t AnalyseServers(const std::vector<TraceSource>& servers, const AnalyseOptions& options) {
  size_t failed = 0;
  const std::vector<std::string> folders = OutputFolders(servers, options.output_folder);
  for (size_t i = 0; i < servers.size(); ++i) {
    AnalyseOptions own = options;
    own.output_folder = folders[i];
    const Result<std::string> summary = AnalyseServer(servers[i], own);
    if (summary.ok()) {
      std::fprintf(stdout, "\n%s", summary->c_str());
    } else {
      PrintError(Concat(servers[i].path, ": ", summary.status().message()));
      ++failed;
    }
  }
  return failed;
}

Result<int> Analyse(const Options& options) {
  SONDE_ASSIGN_OR_RETURN(std::vector<TraceSource> captures, FindCaptures(options.paths));
  std::vector<TraceSource> servers;
  std::copy_if(captures.begin(), captures.end(), std::back_inserter(servers), IsServer);
  std::erase_if(captures, IsServer);
  const int cores = base::AvailableThreads();
  int at_a_time = options.max_process_number > 0 ? options.max_process_number : cores;
  at_a_time =
      std::clamp(std::min(at_a_time, cores), 1, std::max(1, static_cast<int>(captures.size())));
  const AnalyseOptions rank_options{.export_types = options.export_types,
                                    .output_folder = options.output_folder,
                                    .threads = std::max(1, cores / at_a_time),
                                    .data_simplification = options.data_simplification,
                                    .only_missing = options.only_missing};
  const std::vector<std::string> folders = OutputFolders(captures, options.output_folder);
  std::vector<std::optional<Result<AnalysedRank>>> results(captures.size());
  base::ProgressBar progress("Parsing", captures.size());
  base::ParallelFor(captures.size(), {.max_threads = at_a_time}, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      AnalyseOptions own = rank_options;
      own.output_folder = folders[i];
      results[i].emplace(AnalyseRank(captures[i], own));
      progress.Advance();
    }
  });
  const auto failed = std::count_if(results.begin(), results.end(),
                                    [](const auto& result) { return !result->ok(); });
  if (failed == 0) progress.Finish();
  std::vector<AnalysedRank> ranks;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]->ok()) {
      for (const std::string& notice : (*results[i])->notices) PrintNotice(notice);
    }
    if (results[i]->ok() && (*results[i])->is_empty) {
      PrintNotice(Concat(captures[i].path,
                         ": nothing to analyse, the process did nothing that is recorded"));
    } else if (results[i]->ok()) {
      ranks.push_back(std::move(**results[i]));
    } else {
      PrintError(Concat(captures[i].path, ": ", results[i]->status().message()));
    }
  }
  SortByRank(ranks);
  const std::string summary = RenderSummary(ranks);
  std::fwrite(summary.data(), 1, summary.size(), stdout);
  AnalyseOptions server_options = rank_options;
  server_options.threads = cores;
  const size_t failed_servers = AnalyseServers(servers, server_options);
  return failed == 0 && failed_servers == 0 ? kExitOk : kExitFailure;
}

CommandAction Declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> types;
  for (const exporters::Exporter& exporter : exporters::Exporters()) {
    types.emplace_back(exporter.name);
  }
  app.add_option("PATH", options->paths, "Captures, or folders with captures in them")->required();
  app.add_option("--export-type,--export_type", options->export_types,
                 Concat("Form of the deliverables, any of ", base::Join(types, ", "),
                        " (default: what the capture was recorded for, else text)"))
      ->delimiter(',')
      ->check(CLI::IsMember(types));
  app.add_option("--max-process-number,--max_process_number", options->max_process_number,
                 "Ranks analysed at the same time (default: number of cores)")
      ->check(CLI::PositiveNumber);
  app.add_option("-o,--output", options->output_folder,
                 "Put the deliverables into DIR/<name of the capture> instead of beside it");
  app.add_flag("--only-missing", options->only_missing,
               "Leave captures as they are that have their deliverables; sum up all of them");
  app.add_flag_function(
      "--data-simplification,--data_simplification,!--no-data-simplification",
      [options](int64_t count) { options->data_simplification = count > 0; },
      "Remove the raw records once all is written; SONDE/trace.duckdb stays, and can be analysed "
      "again (default: what the capture was recorded with)");
  return [options](const Context&) -> Result<int> { return Analyse(*options); };
}

}  // namespace

Command AnalyseCommand() {
  return {.name = "analyse",
          .summary = "Turn captures into ASCEND_PROFILER_OUTPUT and print a summary",
          .example =
              "sonde analyse ./profile\n"
              "sonde analyse ./profile --export-type text,db\n"
              "sonde analyse ./profile --export-type kineto -o /tmp/traces",
          .declare = &Declare};
}

}  // namespace sonde::cli

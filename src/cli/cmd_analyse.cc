// `sonde analyse`: captures -> deliverables, several ranks at a time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/host/progress.h"
#include "base/strings.h"
#include "cli/analyse_rank.h"
#include "cli/analyse_server.h"
#include "cli/analyse_summary.h"
#include "cli/analyse_waits.h"
#include "cli/command.h"
#include "cli/guarded.h"
#include "cli/job_notices.h"
#include "cli/number_checks.h"
#include "exporters/registry.h"
#include "job/failures.h"
#include "job/for_each.h"
#include "job/job.h"

namespace sonde::cli {
namespace {

using base::Concat;
using importers::TraceSource;

struct AnalyseFlags {
  std::vector<std::string> paths;
  std::vector<std::string> export_types;
  int max_process_number = 0;  // 0: as many as fit
  std::string output_folder;
  std::optional<bool> data_simplification;
  bool only_missing = false;
  bool keeps_clocks = false;
  std::string objectives;
};

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

// Subfolder of `output` for the deliverables of each trace: traces of one name are distinguished by
// as many of their parent folders as needed.
std::vector<std::string> OutputFolders(const std::vector<TraceSource>& traces,
                                       const std::string& output) {
  std::vector<std::string> folders(traces.size(), output);
  if (output.empty()) return folders;
  std::map<std::string, std::vector<size_t>> same;
  for (size_t i = 0; i < traces.size(); ++i) {
    same[Tail(job::SpanFolder(traces[i].path), 1)].push_back(i);
  }
  for (const auto& [name, twins] : same) {
    std::set<std::string> spans;  // one may have been named twice: as a whole and by a part of it
    for (const size_t i : twins) spans.insert(job::SpanFolder(traces[i].path));
    std::set<std::string> tails;
    for (size_t parts = 1; tails.size() < spans.size(); ++parts) {
      tails.clear();
      for (const size_t i : twins) {
        const std::string tail = Tail(job::SpanFolder(traces[i].path), parts);
        tails.insert(tail);
        folders[i] = tail == name ? output : base::JoinPath(output, base::DirName(tail));
      }
    }
  }
  return folders;
}

// By run, then ranks by number and name; those without a rank last.
void SortByRank(std::vector<AnalysedRank>& ranks) {
  std::stable_sort(ranks.begin(), ranks.end(), [](const AnalysedRank& a, const AnalysedRank& b) {
    if (a.run != b.run) return a.run < b.run;
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
      PrintText(Concat("\n", *summary));
    } else {
      PrintError(Concat(servers[i].path, ": ", summary.status().message()));
      ++failed;
    }
  }
  return failed;
}

// Prints the notices of each; returns those that have results.
std::vector<AnalysedRank> TakeRanks(const std::vector<job::Trace>& captures,
                                    std::vector<AnalysedRank> results, int threads,
                                    bool keeps_clocks) {
  for (size_t i = 0; i < results.size(); ++i) results[i].run = captures[i].run;
  for (const std::string& line : FindWaits(results, threads, keeps_clocks)) PrintNotice(line);
  std::vector<AnalysedRank> ranks;
  for (size_t i = 0; i < results.size(); ++i) {
    for (const std::string& notice : results[i].notices) PrintNotice(notice);
    if (results[i].is_empty) {
      PrintNotice(
          Concat(captures[i].source.path, ": nothing to analyse, the process recorded no work"));
    } else if (!results[i].span_name.empty()) {  // else it failed
      ranks.push_back(std::move(results[i]));
    }
  }
  SortByRank(ranks);
  return ranks;
}

// Captures with the places that they have in the whole list.
struct Part {
  std::vector<job::Trace> captures;
  std::vector<std::string> folders;  // of their deliverables
  std::vector<size_t> places;
};

// Returns how many failed. `board` records which are being worked on; may be null.
size_t AnalyseCaptures(const Part& part, const AnalyseFlags& options,
                       const AnalyseOptions& all_options, WorkBoard* board) {
  const int cores = all_options.threads;
  int at_a_time = options.max_process_number > 0 ? options.max_process_number : cores;
  at_a_time = std::clamp(std::min(at_a_time, cores), 1,
                         std::max(1, static_cast<int>(part.captures.size())));
  std::vector<AnalysedRank> results(part.captures.size());
  const char* quiet = std::getenv(kQuietVariable);
  using Mode = base::ProgressBar::Options::Mode;
  const bool is_quiet = quiet != nullptr && std::string_view(quiet) == "1";
  base::ProgressBar progress("Parsing", part.captures.size(),
                             {.mode = is_quiet ? Mode::kSilent : Mode::kAuto});
  const auto analyse = [&](const job::Trace& trace, size_t place) -> Status {
    AnalyseOptions own = all_options;
    own.threads = std::max(1, cores / at_a_time);
    own.output_folder = part.folders[place];
    const size_t number = part.places[place];
    own.only_missing = own.only_missing || (board != nullptr && board->IsDone(number));
    if (board != nullptr) board->Begin(number);
    auto result = AnalyseRank(trace.source, own);
    if (board != nullptr) board->End(number, result.ok());
    SONDE_ASSIGN_OR_RETURN(results[place], std::move(result));
    return {};
  };
  const auto failures =
      job::ForEach(part.captures, {.at_a_time = at_a_time, .progress = &progress}, analyse);
  if (failures.empty()) progress.Finish();
  const std::vector<AnalysedRank> ranks =
      TakeRanks(part.captures, std::move(results), cores, options.keeps_clocks);
  for (const std::string& line : job::DescribeFailures(failures)) PrintError(line);
  const std::string summary = RenderSummary(ranks);
  PrintText(summary);
  return failures.size();
}

// Of several captures one whose analysis crashes costs the others nothing. Returns how many failed.
Result<size_t> AnalyseApart(const std::vector<job::Trace>& captures, const AnalyseFlags& options,
                            const AnalyseOptions& all_options) {
  std::vector<TraceSource> sources;
  for (const job::Trace& trace : captures) sources.push_back(trace.source);
  const std::vector<std::string> folders = OutputFolders(sources, options.output_folder);
  const auto work = [&](std::span<const size_t> places, WorkBoard* board) {
    Part part;
    for (const size_t place : places) {
      part.captures.push_back(captures[place]);
      part.folders.push_back(folders[place]);
      part.places.push_back(place);
    }
    return AnalyseCaptures(part, options, all_options, board);
  };
  if (captures.size() < 2) {
    const std::vector<size_t> all(captures.size(), 0);
    return work(all, nullptr);
  }
  const auto guarded = [&](std::span<const size_t> places, WorkBoard& board) {
    return work(places, &board) == 0 ? kExitOk : kExitFailure;
  };
  SONDE_ASSIGN_OR_RETURN(const GuardedResult done, RunGuarded(captures.size(), guarded));
  for (const Crash& crash : done.crashes) {
    PrintError(Concat(captures[crash.place].source.path,
                      ": Sonde crashed while reading it (signal ", std::to_string(crash.signal),
                      ") and left it out; please report this with the capture"));
  }
  return done.crashes.size() + (done.exit_status == kExitOk ? 0 : 1);
}

bool IsOfServers(const std::string& type) { return exporters::FindExporter(type)->is_of_server; }

// Who asks for forms of servers alone gets no others of the ranks, and is not left without any.
Status CheckForms(const AnalyseFlags& options, const std::vector<TraceSource>& servers,
                  std::vector<job::Trace>& captures) {
  const auto& types = options.export_types;
  const auto of_servers = std::find_if(types.begin(), types.end(), IsOfServers);
  if (of_servers == types.end()) return {};
  if (servers.empty()) {
    return base::NotFoundError(Concat("--export-type ", *of_servers,
                                      " is made of a session of a server (a folder server_...), "
                                      "and there is none in ",
                                      base::Join(options.paths, ", ")));
  }
  if (std::all_of(types.begin(), types.end(), IsOfServers)) captures.clear();
  return {};
}

Result<int> Analyse(const AnalyseFlags& options) {
  recipes::Objectives objectives;
  if (!options.objectives.empty()) {
    SONDE_ASSIGN_OR_RETURN(objectives, recipes::ParseObjectives(options.objectives));
  }
  SONDE_ASSIGN_OR_RETURN(const job::Job found, job::FindWholeJob(options.paths));
  NotifyOfJob(found);
  std::vector<TraceSource> servers;
  std::vector<job::Trace> captures;
  for (const auto* list : {&found.traces, &found.parts}) {
    for (const job::Trace& trace : *list) {
      if (IsServer(trace.source)) {
        servers.push_back(trace.source);
      } else {
        captures.push_back(trace);
      }
    }
  }
  SONDE_RETURN_IF_ERROR(CheckForms(options, servers, captures));
  const AnalyseOptions all_options{.export_types = options.export_types,
                                   .output_folder = options.output_folder,
                                   .threads = base::AvailableThreads(),
                                   .data_simplification = options.data_simplification,
                                   .only_missing = options.only_missing,
                                   .objectives = objectives};
  SONDE_ASSIGN_OR_RETURN(const size_t failed, AnalyseApart(captures, options, all_options));
  const size_t failed_servers = AnalyseServers(servers, all_options);
  return failed == 0 && failed_servers == 0 ? kExitOk : kExitFailure;
}

CommandAction DeclareAnalyse(CLI::App& app) {
  auto options = std::make_shared<AnalyseFlags>();
  std::vector<std::string> types;
  for (const exporters::Exporter& exporter : exporters::Exporters()) {
    types.emplace_back(exporter.name);
  }
  app.add_option("PATH", options->paths, "Captures, or folders with captures in them")->required();
  app.add_option("--export-type,--export_type", options->export_types,
                 Concat("Formats of the deliverables, any of ", base::Join(types, ", "),
                        " (default: as set when the capture was recorded, else text)"))
      ->delimiter(',')
      ->check(CLI::IsMember(types));
  CheckAtLeast(
      app.add_option("--max-process-number,--max_process_number", options->max_process_number,
                     "Ranks analysed at the same time (default: number of cores)"),
      1);
  app.add_option("-o,--output", options->output_folder,
                 "Put the deliverables into DIR/<name of the capture> instead of next to it");
  app.add_flag("--only-missing", options->only_missing,
               "Skip captures that have their deliverables; the summary covers all");
  app.add_flag("--keep-clocks,--keep_clocks", options->keeps_clocks,
               "Compute waits of collectives without correcting clocks of hosts that disagree");
  app.add_option("--slo", options->objectives,
                 "Of a server: requests that miss one of these objectives are slow, as in "
                 "ttft=500ms,itl=50ms,e2e=2s (default: those that take unusually long)");
  app.add_flag_function(
      "--data-simplification,--data_simplification,!--no-data-simplification",
      [options](int64_t count) { options->data_simplification = count > 0; },
      "Remove the raw records after everything is written; SONDE/trace.duckdb stays and can be "
      "analysed "
      "again (default: as set when the capture was recorded)");
  return [options](const Context&) -> Result<int> { return Analyse(*options); };
}

}  // namespace

Command AnalyseCommand() {
  return {.name = "analyse",
          .summary = "Turn captures into ASCEND_PROFILER_OUTPUT and print a summary",
          .example =
              "sonde analyse ./profile\n"
              "sonde analyse ./profile --export-type text,db\n"
              "sonde analyse ./profile --export-type kineto -o /tmp/traces\n"
              "sonde analyse ./profile --slo ttft=500ms,itl=50ms\n"
              "sonde analyse ./profile --export-type otlp",
          .declare = &DeclareAnalyse};
}

}  // namespace sonde::cli

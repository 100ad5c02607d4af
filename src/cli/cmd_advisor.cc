// `sonde advisor`: what to do about one run.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <utility>

#include "advisor/advisor.h"
#include "advisor/output/needs.h"
#include "advisor/output/write.h"
#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cli/cluster_options.h"
#include "cli/command.h"

namespace sonde::cli {
namespace {

using base::Concat;

struct AdvisorOptions {
  std::string dimension;
  std::string path;
  std::string benchmark_path;
  std::string output = ".";
  std::string cann_version = "8.0.0";
  std::string torch_version = "2.1.0";
  std::string profiling_type = "pytorch";  // accepted: traces are recognized by their contents
  std::string language = "cn";
  std::vector<std::string> rule_folders;
  bool force = false;  // accepted: owners and sizes of files are not looked at
  bool debug = false;  // accepted: every message is shown
  bool agent = false;
};

advisor::Dimension DimensionOf(const std::string& name) {
  if (name == "schedule") return advisor::Dimension::kSchedule;
  return name == "computation" ? advisor::Dimension::kComputation : advisor::Dimension::kAll;
}

advisor::Request RequestOf(const AdvisorOptions& options) {
  advisor::Request request;
  request.path = ClusterPath(options.path);
  request.benchmark_path = ClusterPath(options.benchmark_path);
  request.dimension = DimensionOf(options.dimension);
  request.cann_version = options.cann_version;
  request.torch_version = options.torch_version;
  request.language =
      options.language == "en" ? advisor::Language::kEnglish : advisor::Language::kChinese;
  for (const std::string& folder : options.rule_folders) {
    request.rule_folders.push_back(ClusterPath(folder));
  }
  request.threads = base::AvailableThreads();
  return request;
}

// Rules that could not be asked are no failure of the command, those that failed are named.
void ReportSilences(const advisor::Report& report) {
  std::map<std::string, int> lacking;
  int count = 0;
  for (const advisor::Silence& silence : report.silences) {
    if (silence.is_failure) {
      PrintError(Concat(silence.why, "; the other rules were applied"));
    } else {
      ++lacking[advisor::NeedText(silence, advisor::Language::kEnglish)];
      ++count;
    }
  }
  if (count == 0) return;
  std::vector<std::string> reasons;
  for (const auto& [words, rules] : lacking) {
    reasons.push_back(Concat(std::to_string(rules), " ", words));
  }
  PrintNotice(Concat(base::CountOf(count, "rule was", "rules were"), " not applied: ",
                     base::Join(reasons, ", "), "; --agent and the HTML page name them"));
}

bool HasFailures(const advisor::Report& report) {
  for (const advisor::Silence& silence : report.silences) {
    if (silence.is_failure) return true;
  }
  return false;
}

Result<int> Advise(const AdvisorOptions& options) {
  const std::string folder = ClusterPath(options.output);
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(folder).Annotate(
      "results cannot be written, name another folder with -o"));
  SONDE_ASSIGN_OR_RETURN(const auto report, advisor::Advise(RequestOf(options), PrintNotice));
  for (const std::string& notice : report->notices) PrintNotice(notice);
  std::vector<std::string> files;
  if (!options.agent) {
    SONDE_ASSIGN_OR_RETURN(files, advisor::Write(*report, folder));
  }
  if (options.agent) PrintJson(advisor::AgentLine(*report, files));
  std::string text = options.agent ? "" : advisor::ConsoleText(*report);
  for (const std::string& file : files) text += file + "\n";
  PrintText(text);
  ReportSilences(*report);
  return HasFailures(*report) ? kExitFailure : kExitOk;
}

Result<int> RunAdvisor(const AdvisorOptions& options) {
  auto done = Advise(options);
  if (options.agent && !done.ok()) {
    PrintJson(advisor::AgentErrorLine(done.status()));
    return kExitFailure;
  }
  return done;
}

CommandAction DeclareAdvisor(CLI::App& app) {
  auto options = std::make_shared<AdvisorOptions>();
  app.add_option("DIMENSION", options->dimension,
                 "Scope of the advice: all, schedule (the host) or computation (kernels)")
      ->required()
      ->check(CLI::IsMember({"all", "schedule", "computation"}));
  app.add_option("-d,--profiling_path", options->path, "The trace, or a folder of several ranks")
      ->required();
  app.add_option("--bp,--benchmark_profiling_path", options->benchmark_path,
                 "A faster run to compare kernels and calls with (only with 'all')");
  app.add_option("-o,--output_path", options->output, "Folder of the results")
      ->capture_default_str();
  app.add_option("--cv,--cann_version", options->cann_version, "Release of CANN whose rules apply")
      ->check(CLI::IsMember({"6.3.RC2", "7.0.RC1", "7.0.0", "8.0.RC1", "8.0.RC2", "8.0.0"},
                            CLI::ignore_case))
      ->capture_default_str();
  app.add_option("--tv,--torch_version", options->torch_version, "Release of PyTorch")
      ->check(CLI::IsMember({"1.11.0", "2.1.0"}))
      ->capture_default_str();
  app.add_option("--pt,--profiling_type", options->profiling_type, "Accepted without effect")
      ->check(CLI::IsMember({"pytorch", "mslite", "msprof", "mindspore"}));
  app.add_option("-l,--language", options->language, "Language of the advice")
      ->check(CLI::IsMember({"cn", "en"}))
      ->capture_default_str();
  app.add_option("--rule-dir", options->rule_folders,
                 "Folder of more rules (*.yaml); one with the name of a built-in rule replaces it");
  app.add_flag("--force", options->force, "Accepted without effect");
  app.add_flag("--debug", options->debug, "Accepted without effect");
  app.add_flag("--agent", options->agent, "Print one line of JSON and write no files");
  return [options](const Context& context) -> Result<int> {
    if (!options->benchmark_path.empty() && options->dimension != "all") {
      return WrongUsage(context, "-bp is for 'sonde advisor all' only");
    }
    return RunAdvisor(*options);
  };
}

}  // namespace

Command AdvisorCommand() {
  return {.name = "advisor",
          .summary = "Advise on one run, with evidence for each advice",
          .example =
              "sonde advisor all -d ./profile -l en -o ./advice\n"
              "sonde advisor all -d ./slow -bp ./fast\n"
              "sonde advisor schedule -d ./profile --rule-dir ./our_rules --agent",
          .declare = &DeclareAdvisor};
}

}  // namespace sonde::cli

// `sonde probe config_check`: what two training runs were started with.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "base/count_of.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/probe_checkpoint.h"
#include "precision/config/config_compare.h"
#include "precision/config/config_pack.h"
#include "precision/config/log_arguments.h"
#include "precision/config/verl_log.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::string_view kProbeConfigExample =
    "sonde probe config_check -d train.sh -o npu.zip        # on each machine\n"
    "sonde probe config_check -c gpu.zip npu.zip -o result  # the reference first\n"
    "sonde probe config_check -vc npu.log gpu.log           # the configuration that verl printed\n"
    "sonde probe config_check -vv npu.log                   # checks whether it is fit for "
    "comparing numbers\n"
    "sonde probe config_check -sc npu.log gpu.log           # arguments that slime printed";

struct ProbeConfigOptions {
  bool dump = false;
  std::vector<std::string> scripts;
  std::vector<std::string> packs;
  std::vector<std::string> logs;
  std::vector<std::string> verl_logs;
  std::vector<std::string> verl_checked;
  std::string output;
};

std::string OutputOr(const ProbeConfigOptions& options, std::string_view standard) {
  return options.output.empty() ? std::string(standard) : options.output;
}

Result<int> Pack(const ProbeConfigOptions& options) {
  SONDE_ASSIGN_OR_RETURN(
      const precision::PackOutcome outcome,
      precision::PackConfiguration(options.scripts, OutputOr(options, "./config_check_pack.zip")));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  PrintText(Concat("packed     ", base::CountOf(outcome.variables, "variable"), ", ",
                   base::CountOf(outcome.packages, "package"), ", ",
                   base::CountOf(outcome.parameters, "hyper-parameter"), "\nwritten    ",
                   outcome.file, "\n"));
  return kExitOk;
}

Result<int> ComparePacks(const ProbeConfigOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const bool checkpoints,
                         AreCheckpoints(options.packs[0], options.packs[1]));
  if (checkpoints) {
    return CompareCheckpointFiles({.target_path = options.packs[0],
                                   .golden_path = options.packs[1],
                                   .json_path = OutputOr(options, "./ckpt_similarity.json")});
  }
  SONDE_ASSIGN_OR_RETURN(
      const precision::ConfigComparison outcome,
      precision::CompareConfigurations(options.packs[0], options.packs[1],
                                       OutputOr(options, "./config_check_result")));
  for (const std::string& note : outcome.notes) PrintNotice(note);
  for (const std::string& verdict : outcome.verdicts) PrintText(verdict + "\n");
  PrintText(Concat("written    ", outcome.file, "\n"));
  return kExitOk;
}

Result<int> CompareLogs(const ProbeConfigOptions& options) {
  SONDE_ASSIGN_OR_RETURN(
      const precision::LogComparison outcome,
      precision::CompareLogArguments(options.logs[0], options.logs[1],
                                     OutputOr(options, "./slime_param_compare_result")));
  PrintText(Concat("arguments  ", std::to_string(outcome.arguments), ", ",
                   std::to_string(outcome.differ), " differ\n"));
  for (const std::string& file : outcome.files) PrintText(Concat("written    ", file, "\n"));
  return kExitOk;
}

Result<int> ReportVerl(const Result<precision::VerlOutcome>& outcome) {
  SONDE_RETURN_IF_ERROR(outcome.status());
  PrintText(Concat("parameters ", std::to_string(outcome->parameters), ", ",
                   std::to_string(outcome->differ), " differ\n"));
  for (const std::string& file : outcome->files) PrintText(Concat("written    ", file, "\n"));
  return kExitOk;
}

Result<int> Check(const Context& context, const ProbeConfigOptions& options) {
  const int chosen = (options.dump ? 1 : 0) + (options.packs.empty() ? 0 : 1) +
                     (options.logs.empty() ? 0 : 1) + (options.verl_logs.empty() ? 0 : 1) +
                     (options.verl_checked.empty() ? 0 : 1);
  if (chosen != 1) return WrongUsage(context, "give one of -d, -c, -vc, -vv and -sc");
  if (options.dump) return Pack(options);
  if (!options.packs.empty()) return ComparePacks(options);
  if (!options.logs.empty()) return CompareLogs(options);
  if (!options.verl_logs.empty()) {
    return ReportVerl(precision::CompareVerlLogs(options.verl_logs[0], options.verl_logs[1],
                                                 OutputOr(options, "./verl_param_compare_result")));
  }
  const bool own = options.verl_checked.size() == 2;
  return ReportVerl(precision::VerifyVerlLog(own ? options.verl_checked[0] : std::string(),
                                             options.verl_checked.back(),
                                             OutputOr(options, "./verl_param_verify_result")));
}

CommandAction DeclareProbeConfig(CLI::App& app) {
  auto options = std::make_shared<ProbeConfigOptions>();
  app.add_option_function<std::vector<std::string>>(
         "-d,--dump",
         [options](const std::vector<std::string>& scripts) {
           options->dump = true;
           options->scripts = scripts;
         },
         "Pack this machine's variables and packages, and the settings in these launch scripts")
      ->expected(0, -1)
      ->type_name("[SCRIPT...]");
  app.add_option("-c,--compare", options->packs, "Two packs or checkpoints, the reference first")
      ->expected(2)
      ->type_name("PATH PATH");
  app.add_option("--vc,--verl-compare", options->verl_logs,
                 "Two training logs of verl, the run under test first")
      ->expected(2)
      ->type_name("LOG LOG");
  app.add_option("--vv,--verl-verify", options->verl_checked,
                 "A training log of verl against a benchmark (default: settings that training and "
                 "inference "
                 "must share)")
      ->expected(1, 2)
      ->type_name("[YAML] LOG");
  app.add_option("--sc,--slime-compare", options->logs, "Two training logs of slime")
      ->expected(2)
      ->type_name("LOG LOG");
  app.add_option("-o,--output", options->output, "The pack, or the folder for results");
  return [options](const Context& context) { return Check(context, *options); };
}

}  // namespace

Command ProbeConfigCommand() {
  return {.name = "config_check",
          .summary = "Compare the configurations of two training runs",
          .example = kProbeConfigExample,
          .declare = &DeclareProbeConfig};
}

}  // namespace sonde::cli

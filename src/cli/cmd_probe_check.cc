// `sonde probe acc_check`, `reproduce` and `api_precision_compare`: calls of a dump by themselves.
// The work with torch is done in Python (python/sonde/torch/check); here its numbers are judged.
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/python_task.h"
#include "precision/check/api_check.h"

namespace sonde::cli {
namespace {

using base::Concat;
using base::JsonValue;

constexpr std::string_view kCheckModule = "sonde.torch.check";
constexpr std::string_view kCompareModule = "sonde._api_precision_compare";
// The furthest off; the table has them all.
constexpr size_t kShown = 20;

struct ProbeCheckOptions {
  std::string python = "python3";
  std::string dump;
  std::string output = "./";
  std::string config;
  std::string go_on_from;
  std::vector<int> devices;
  bool jit = false;
  bool save_errors = false;
  bool filter = false;
  std::string entry;
  std::string target;  // tables of api_precision_compare
  std::string golden;
};

void Print(std::string_view head, std::string_view text) {
  std::string line = Concat(head, std::string(12 - std::min<size_t>(head.size(), 11), ' '));
  line.resize(12, ' ');
  PrintText(Concat(line, text, "\n"));
}

std::string Text(const JsonValue& object, std::string_view key) {
  return object.GetString(key, "").value_or("");
}

void PrintOutcome(const precision::ApiCheckOutcome& outcome, const std::string& device) {
  Print("checked",
        Concat(base::CountOf(outcome.calls, "call"), " on ", device, ": ",
               base::CountOf(outcome.results, "result or gradient", "results and gradients"), ", ",
               std::to_string(outcome.explained), " explained by rounding"));
  for (size_t i = 0; i < std::min(outcome.differs.size(), kShown); ++i) {
    Print("differs", outcome.differs[i]);
  }
  if (outcome.differs.size() > kShown) {
    Print("",
          Concat("and ", std::to_string(outcome.differs.size() - kShown), " more, see the table"));
  }
  if (outcome.random > 0) {
    Print("random", Concat(base::CountOf(outcome.random, "result"), " of random functions"));
  }
  if (outcome.not_run > 0) {
    Print("not run",
          Concat(base::CountOf(outcome.not_run, "call"), ", the first: ", outcome.first_not_run));
  }
  if (outcome.broken_lines > 0) {
    Print(
        "note",
        Concat(std::to_string(outcome.broken_lines),
               " broken lines of measurements were left out (was an earlier check interrupted?)"));
  }
}

std::vector<std::string> CheckWords(const ProbeCheckOptions& options) {
  std::vector<std::string> words = {"acc_check", "--api-info", options.dump, "--out",
                                    options.output};
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--config", options.config);
  add("--go-on-from", options.go_on_from);
  if (!options.devices.empty()) add("--device", std::to_string(options.devices.front()));
  if (options.jit) words.emplace_back("--jit-compile");
  if (options.save_errors) words.emplace_back("--save-error-data");
  if (options.filter) words.emplace_back("--filter");
  return words;
}

Result<int> AccCheck(const Context& context, const ProbeCheckOptions& options) {
  if (options.devices.size() > 1) {
    return WrongUsage(context, "-d takes one device; start a check for each device");
  }
  SONDE_ASSIGN_OR_RETURN(const PythonResult done,
                         RunPythonTask(context, {.python = options.python,
                                                 .module = std::string(kCheckModule),
                                                 .words = CheckWords(options)}));
  if (done.exit_status != 0) return done.exit_status;
  const JsonValue report = done.report->root();
  const std::string table = Text(report, "judgement");
  SONDE_ASSIGN_OR_RETURN(const precision::ApiCheckOutcome outcome,
                         precision::JudgeApiCheck(Text(report, "numbers"), table));
  PrintOutcome(outcome, Text(report, "device"));
  Print("reference", Text(report, "verdicts"));
  for (const std::string& file : {Text(report, "result"), Text(report, "details"), table}) {
    Print("written", file);
  }
  if (outcome.calls > 0 || outcome.not_run == 0) return kExitOk;
  return base::FailedPreconditionError(Concat("none of ", base::CountOf(outcome.not_run, "call"),
                                              " could be run, the first: ", outcome.first_not_run));
}

Result<int> Reproduce(const Context& context, const ProbeCheckOptions& options) {
  SONDE_ASSIGN_OR_RETURN(
      const PythonResult done,
      RunPythonTask(context, {.python = options.python,
                              .module = std::string(kCheckModule),
                              .words = {"reproduce", "--api-info", options.dump, "--entry",
                                        options.entry, "--out", options.output}}));
  if (done.exit_status != 0) return done.exit_status;
  Print("written", Text(done.report->root(), "program"));
  return kExitOk;
}

Result<int> ApiCompare(const Context& context, const ProbeCheckOptions& options) {
  SONDE_ASSIGN_OR_RETURN(
      const PythonResult done,
      RunPythonTask(context, {.python = options.python,
                              .module = std::string(kCompareModule),
                              .words = {options.target, options.golden, options.output}}));
  if (done.exit_status != 0) return done.exit_status;
  const JsonValue report = done.report->root();
  Print("calls", Text(report, "verdicts"));
  Print("written", Text(report, "result"));
  Print("written", Text(report, "details"));
  return kExitOk;
}

void AddPython(CLI::App& app, ProbeCheckOptions& options) {
  app.add_option("--python", options.python, "The Python that runs the calls")
      ->capture_default_str();
}

CommandAction DeclareAccCheck(CLI::App& app) {
  auto options = std::make_shared<ProbeCheckOptions>();
  app.add_option("--api_info,--api_info_file", options->dump, "The dump.json with the calls to run")
      ->required();
  app.add_option("-o,--out_path", options->output, "Folder for the tables")->capture_default_str();
  app.add_option("-d,--device", options->devices,
                 "Number of the accelerator (default: the first; the CPU where there is none)");
  app.add_flag("-j,--jit_compile", options->jit, "Compile operators of an NPU while they run");
  app.add_flag("--save_error_data", options->save_errors,
               "Save tensors of calls that do not pass, below error_data_path of -config");
  app.add_option("--csv_path,--result_csv_path", options->go_on_from,
                 "Continue this accuracy_checking_result_<time>.csv");
  app.add_flag("-f,--filter_api", options->filter, "Leave out calls that repeat an earlier one");
  app.add_option("--config,--config_path", options->config,
                 "config.json with a block acc_check: white_list, black_list, error_data_path");
  AddPython(app, *options);
  return [options](const Context& context) { return AccCheck(context, *options); };
}

CommandAction DeclareReproduce(CLI::App& app) {
  auto options = std::make_shared<ProbeCheckOptions>();
  app.add_option("ENTRY", options->entry, "The call: Functional.linear.3")->required();
  app.add_option("--api_info,--api_info_file", options->dump, "The dump.json that has it")
      ->required();
  app.add_option("-o,--out_path", options->output, "Folder for the program and its inputs")
      ->capture_default_str();
  AddPython(app, *options);
  return [options](const Context& context) { return Reproduce(context, *options); };
}

CommandAction DeclareApiCompare(CLI::App& app) {
  auto options = std::make_shared<ProbeCheckOptions>();
  app.add_option("--npu,--npu_csv_path", options->target,
                 "accuracy_checking_details_<time>.csv of the device under test")
      ->required();
  app.add_option("--gpu,--gpu_csv_path", options->golden, "The same file of the other device")
      ->required();
  app.add_option("-o,--out_path", options->output, "Folder for the tables")->capture_default_str();
  AddPython(app, *options);
  return [options](const Context& context) { return ApiCompare(context, *options); };
}

}  // namespace

Command ProbeAccCheckCommand() {
  return {.name = "acc_check",
          .summary = "Run every call of a dump by itself and judge its results",
          .example =
              "sonde probe acc_check -api_info dump/step0/rank0/dump.json -o result\n"
              "sonde probe acc_check -api_info dump.json -csv_path "
              "result/accuracy_checking_result_20260101120000.csv   # continue",
          .declare = &DeclareAccCheck};
}

Command ProbeReproduceCommand() {
  return {.name = "reproduce",
          .summary = "Write a small program that runs one call of a dump with its inputs",
          .example = "sonde probe reproduce Functional.softmax.3 -api_info dump.json -o repro",
          .declare = &DeclareReproduce};
}

Command ProbeApiCompareCommand() {
  return {.name = "api_precision_compare",
          .summary = "Compare the tables of acc_check from two devices",
          .example =
              "sonde probe api_precision_compare "
              "-npu npu/accuracy_checking_details_20260101120000.csv \\\n"
              "    -gpu gpu/accuracy_checking_details_20260101130000.csv -o result",
          .declare = &DeclareApiCompare};
}

}  // namespace sonde::cli

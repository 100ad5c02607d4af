// `sonde probe first_difference` and `compile_check`: whether torch's compiler made of a program
// what the program says. The work is done in Python (python/sonde/_first_difference,
// python/sonde/torch/compile_check).
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/python_task.h"

namespace sonde::cli {
namespace {

constexpr std::string_view kDifferenceModule = "sonde._first_difference";
constexpr std::string_view kOfflineModule = "sonde.torch.compile_check";

struct ProbeCompiledOptions {
  std::string python = "python3";
  std::string backends = "eager,inductor";
  std::string input;
  std::string output;
  std::string format = "table";
  std::string fail_if;
};

// Status and lines are those of the module.
Result<int> RunModule(const Context& context, const ProbeCompiledOptions& options,
                      std::string_view module, std::vector<std::string> words) {
  if (!options.fail_if.empty()) words.emplace_back("--fail-if-differs");
  if (!context.command_line.empty()) {
    words.emplace_back("--");
    words.insert(words.end(), context.command_line.begin(), context.command_line.end());
  }
  SONDE_ASSIGN_OR_RETURN(const PythonResult done,
                         RunPythonTask(context, {.python = options.python,
                                                 .module = std::string(module),
                                                 .words = std::move(words),
                                                 .has_report = false}));
  return done.exit_status;
}

Result<int> FirstDifference(const Context& context, const ProbeCompiledOptions& options) {
  if (context.command_line.empty()) {
    return WrongUsage(context, "no program to run: first_difference [OPTIONS] -- COMMAND...");
  }
  return RunModule(context, options, kDifferenceModule,
                   {"--sonde", context.layout.binary, "--backends", options.backends, "--out",
                    options.output, "--format", options.format});
}

void AddCommon(CLI::App& app, ProbeCompiledOptions& options) {
  app.add_option("--format", options.format, "What is printed: table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
}

CommandAction DeclareFirstDifference(CLI::App& app) {
  auto options = std::make_shared<ProbeCompiledOptions>();
  options->output = "./first_difference";
  app.add_option("--backends", options->backends,
                 "The reference, then what is compared with it: eager (nothing is compiled), "
                 "inductor, or another back end of torch.compile, as aot_eager")
      ->capture_default_str();
  app.add_option("-o,--output_path", options->output,
                 "New folder for the dumps of the runs and the tables")
      ->capture_default_str();
  AddCommon(app, *options);
  app.add_option("--fail-if", options->fail_if,
                 "first_difference: exit with status 3 where more than rounding differs")
      ->check(CLI::IsMember({"first_difference"}));
  app.add_option("--python", options->python, "The Python that starts the runs")
      ->capture_default_str();
  return [options](const Context& context) { return FirstDifference(context, *options); };
}

CommandAction DeclareCompileCheck(CLI::App& app) {
  auto options = std::make_shared<ProbeCompiledOptions>();
  options->output = "./compile_check";
  app.add_option("DIR", options->input,
                 "A cache folder of torch's compiler, or a folder of TORCH_COMPILE_DEBUG=1")
      ->required();
  app.add_option("-o,--output_path", options->output, "Folder for the table")
      ->capture_default_str();
  AddCommon(app, *options);
  app.add_option("--fail-if", options->fail_if,
                 "differs: exit with status 3 where a kernel differs by more than rounding")
      ->check(CLI::IsMember({"differs"}));
  app.add_option("--python", options->python, "A Python with the torch that compiled")
      ->capture_default_str();
  return [options](const Context& context) {
    return RunModule(context, *options, kOfflineModule,
                     {options->input, "--out", options->output, "--format", options->format});
  };
}

}  // namespace

// A command of its own below `probe`, since a program's command line follows it.
Command ProbeFirstDifferenceCommand() {
  return {.name = "probe first_difference",
          .summary = "Run a program eager and compiled, and name the module where they part",
          .example =
              "sonde probe first_difference -- python3 infer.py\n"
              "sonde probe first_difference --backends aot_eager,inductor "
              "--fail-if first_difference \\\n    -- python3 infer.py   # in a pipeline",
          .declare = &DeclareFirstDifference,
          .takes_command_line = true};
}

Command ProbeCompileCheckCommand() {
  return {.name = "compile_check",
          .summary = "Check kernels that torch's compiler generated, without the program",
          .example = "sonde probe compile_check ~/.cache/inductor -o checked",
          .declare = &DeclareCompileCheck};
}

}  // namespace sonde::cli

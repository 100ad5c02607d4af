// `sonde doctor`: what can be recorded on this machine, what cannot, and remedies.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/run_options.h"
#include "cli/supervise.h"

namespace sonde::cli {
namespace {

using base::Concat;

struct DoctorOptions {
  std::string python;
  std::string save_path = kDefaultSavePath;
};

void AddPythonFindings(const Context& context, const std::string& python,
                       std::vector<Finding>& findings) {
  Finding failure{.grade = Grade::kFailure, .subject = "Python"};
  if (const auto program = FindProgram(python); !program.ok()) {
    failure.text = program.status().message();
    failure.remedy = "name the Python of your programs with --python or SONDE_PYTHON";
    findings.push_back(failure);
    return;
  }
  const Result<base::JsonDocument> report = AskPython(context.layout, python);
  if (!report.ok()) {
    failure.text = report.status().message();
    failure.remedy = Concat("run '", python, " -m sonde.doctor' to see more");
    findings.push_back(failure);
    return;
  }
  const std::vector<Finding> explained = ExplainPython(report->root());
  findings.insert(findings.end(), explained.begin(), explained.end());
}

// The Python that would run a command: itself, or the one in the first line of its script. Empty
// where that is unknown.
std::string PythonOf(const std::vector<std::string>& command) {
  const Result<std::string> program = FindProgram(command.front());
  if (!program.ok()) return {};
  if (base::BaseName(*program).starts_with("python")) return *program;
  const Result<std::string> script = base::ReadFile(*program, 1 << 16);
  if (!script.ok() || !script->starts_with("#!")) return {};
  const std::string_view line =
      base::Trim(std::string_view(*script).substr(2, script->find('\n') - 2));
  const std::string_view last = line.substr(line.rfind(' ') + 1);  // behind "/usr/bin/env"
  return base::BaseName(last).starts_with("python") ? std::string(last) : "";
}

Result<int> Examine(const Context& context, const DoctorOptions& options) {
  std::vector<Finding> findings;
  std::string python = options.python;
  if (!context.command_line.empty()) {
    const std::string found = PythonOf(context.command_line);
    if (found.empty()) {
      findings.push_back({.grade = Grade::kNote,
                          .subject = "Command",
                          .text = Concat("which Python runs '", context.command_line.front(),
                                         "' is unknown, '", python, "' is checked")});
    } else {
      python = found;
    }
  }
  AddPythonFindings(context, python, findings);
  for (const Finding& finding : CheckDevices("/dev")) findings.push_back(finding);
  const auto get_variable = [](const char* name) { return std::getenv(name); };
  for (const Finding& finding : CheckDeviceTasks("/dev", get_variable)) {
    findings.push_back(finding);
  }
  findings.push_back(CheckClock());
  findings.push_back(CheckSavePath(options.save_path));
  for (const Finding& finding : CheckOtherProfilers(get_variable)) findings.push_back(finding);
  const std::string screen = RenderDoctor(Concat("Sonde on ", DescribeMachine()), findings);
  PrintText(screen);
  const auto failure = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.grade == Grade::kFailure;
  });
  if (failure == findings.end()) return kExitOk;
  return base::FailedPreconditionError(
      Concat("PyTorch programs cannot be recorded here: ", failure->subject, ": ", failure->text));
}

CommandAction DeclareDoctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  options->python = "python3";
  app.add_option("--python", options->python, "The Python that runs your programs")
      ->envname("SONDE_PYTHON")
      ->capture_default_str();
  app.add_option("--profile-save-path", options->save_path, "Folder for the captures")
      ->envname("SONDE_PROFILE_SAVE_PATH")
      ->capture_default_str();
  return [options](const Context& context) { return Examine(context, *options); };
}

}  // namespace

Command DoctorCommand() {
  return {.name = "doctor",
          .summary = "Check what can be recorded on this machine, what not, and why",
          .example = "sonde doctor -- vllm serve\nsonde doctor --python ./venv/bin/python",
          .declare = &DeclareDoctor,
          .takes_command_line = true};
}

}  // namespace sonde::cli

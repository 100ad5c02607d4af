#include "cli/python_task.h"

#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/host/private_folder.h"
#include "base/strings.h"
#include "cli/supervise.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr int kKilled = 128;  // plus the number of the signal, as shells report it

}  // namespace

Result<PythonResult> RunPythonTask(const Context& context, const PythonTask& task) {
  if (context.layout.python_package.empty()) {
    return NotFoundError(Concat("Sonde's Python package was not found near '", context.layout.home,
                                "' (set SONDE_HOME to the folder that holds bin/ and lib/)"));
  }
  SONDE_ASSIGN_OR_RETURN(const std::string python, FindProgram(task.python).Annotate("--python"));
  SONDE_ASSIGN_OR_RETURN(const auto folder, base::PrivateFolder::Make("task"));
  const std::string report = base::JoinPath(folder->path(), "report.json");
  ProgramStart start;
  start.path = python;
  start.words = {task.python, "-m", task.module};
  start.words.insert(start.words.end(), task.words.begin(), task.words.end());
  if (task.has_report) start.words.insert(start.words.end(), {"--report", report});
  const char* theirs = std::getenv("PYTHONPATH");
  const std::string behind = theirs == nullptr || *theirs == '\0' ? "" : Concat(":", theirs);
  start.variables = {{"PYTHONPATH", Concat(context.layout.PythonFolder(), behind)}};
  SONDE_ASSIGN_OR_RETURN(const ProgramEnd end, Supervise(start));
  if (end.signal != 0) {
    PrintError(Concat(task.python, " was ended by signal ", std::to_string(end.signal)));
    return PythonResult{kKilled + end.signal, std::nullopt};
  }
  if (end.exit_status != 0 || !task.has_report) {
    return PythonResult{end.exit_status, std::nullopt};
  }
  SONDE_ASSIGN_OR_RETURN(base::JsonDocument document, base::JsonDocument::ReadFile(report));
  return PythonResult{0, std::move(document)};
}

}  // namespace sonde::cli

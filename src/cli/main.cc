// The command `sonde`.
#include <cstdlib>
#include <string_view>

#include "base/host/sqlite_reader.h"
#include "cli/commands.h"
#include "cli/crash_report.h"
#include "cli/ended.h"
#include "store/statement_server.h"

int main(int argc, char** argv) {
  using sonde::cli::Context;
  // First, since a crash there is reported by the program that started it.
  if (argc > 1 && std::string_view(argv[1]) == sonde::store::kStatementsArgument) {
    return sonde::store::ServeStatements();
  }
  if (argc > 3 && std::string_view(argv[1]) == sonde::cli::kEndArgument) {
    return sonde::cli::RemoveTemporariesAndEnd(argv[2], argv[3]);
  }
  sonde::cli::RemoveTemporariesAtSignals();
  sonde::cli::ReportCrashes();
  sonde::base::LeaveSqliteMemoryUncounted();
  sonde::Result<std::string> self = sonde::cli::SelfPath();
  if (!self.ok()) {
    sonde::cli::PrintError(self.status().message());
    return sonde::cli::kExitFailure;
  }
  Context context;
  context.layout = sonde::cli::FindLayout(*self, std::getenv("SONDE_HOME"));
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return sonde::cli::Dispatch(sonde::cli::AllCommands(), arguments, std::move(context));
}

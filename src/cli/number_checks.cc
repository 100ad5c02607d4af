#include "cli/number_checks.h"

#include <CLI/CLI.hpp>
#include <string>

#include "base/strings.h"

namespace sonde::cli {

using base::Concat;

CLI::Option* CheckAtLeast(CLI::Option* option, int64_t least) {
  const auto check = [least](std::string& text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= static_cast<double>(least)) return "";
    return Concat("must be a number of at least ", std::to_string(least), ", not '", text, "'");
  };
  return option->check({check, "", "at least"});
}

namespace {

// Into bytes.
CLI::Validator Size() {
  const auto check = [](std::string& text) -> std::string {
    const std::string given = text;
    try {
      return CLI::AsSizeValue(false)(text);
    } catch (const CLI::Error&) {
      return Concat("must be a number of bytes, optionally with K, M or G, not '", given, "'");
    }
  };
  return {check, "", "size"};
}

}  // namespace

void AddStatementLimits(CLI::App& app, const char* whose, store::StatementLimits& limits) {
  limits.program = "/proc/self/exe";  // a crash or a limit ends a statement and not the command
  app.add_option("--max-memory", limits.memory_bytes,
                 Concat("Memory for ", whose,
                        ", as 4GB; the rest goes to temporary files (default: half of the "
                        "machine's memory)"))
      ->transform(Size());
  const std::string usual =
      limits.max_seconds > 0 ? Concat(" (default: ", std::to_string(limits.max_seconds), ")") : "";
  const std::string help = Concat("Cancel ", whose, " that takes longer", usual);
  CheckAtLeast(app.add_option("--max-seconds", limits.max_seconds, help), 1);
}

}  // namespace sonde::cli

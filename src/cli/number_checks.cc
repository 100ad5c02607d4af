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
    return Concat("must be a number from ", std::to_string(least), " on, not '", text, "'");
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
      return Concat("must be a number of bytes with K, M, G or nothing behind it, not '", given,
                    "'");
    }
  };
  return {check, "", "size"};
}

}  // namespace

void AddStatementLimits(CLI::App& app, const char* whose, store::StatementLimits& limits) {
  app.add_option("--max-memory", limits.memory_bytes,
                 Concat("What ", whose,
                        " may hold in memory, as 4GB; what is more goes to temporary files "
                        "(default: half of what there is)"))
      ->transform(Size());
  const std::string usual =
      limits.max_seconds > 0 ? Concat(" (default: ", std::to_string(limits.max_seconds), ")") : "";
  const std::string told = Concat("Cancel ", whose, " that takes longer", usual);
  CheckAtLeast(app.add_option("--max-seconds", limits.max_seconds, told), 1);
}

}  // namespace sonde::cli

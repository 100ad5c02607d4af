// From the words of the command line to the command and its exit status.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/host/terminal_text.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/licenses.h"
#include "store/collectives.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::string_view kAbout =
    "Sonde records where the time and memory of an LLM program go, and turns the recording into "
    "the\n"
    "files that the Ascend tools, Perfetto and TensorBoard read.\n";

// Error texts are one line, whatever the parts they are made of, and quote what stands in files.
std::string OneLine(std::string_view text) { return base::ForTerminalLine(base::Trim(text)); }

void PrintLine(std::string_view prefix, std::string_view message) {
  // One write, so that lines of several processes do not mix.
  const std::string line = Concat(prefix, OneLine(message), "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void PrintOverview(std::span<const Command> commands) {
  std::string text = Concat(kAbout, "\nUsage: sonde COMMAND [OPTIONS]\n\nCommands:\n");
  size_t width = 0;
  const auto is_step = [](const Command& command) {
    return command.name.find(' ') != std::string_view::npos;
  };
  for (const Command& command : commands) {
    if (!is_step(command)) width = std::max(width, command.name.size());
  }
  for (const Command& command : commands) {
    if (is_step(command)) continue;  // the help of its first word names it
    text += Concat("  ", command.name, std::string(width + 2 - command.name.size(), ' '),
                   command.summary, "\n");
  }
  text +=
      "\n'sonde COMMAND --help' explains the options. 'sonde --version' prints the version,\n"
      "'sonde --licenses' the notices of the libraries inside.\n";
  text += "\nExample:\n  sonde run -- python3 train.py\n";
  PrintText(text);
}

// CLI11's layout with shorter names: "--[no-]analyse" for a flag and its opposite.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(36); }

  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return CLI::Formatter::make_option_name(option, is_positional);
    const std::vector<std::string>& long_names = option->get_lnames();
    std::vector<std::string> shown;
    for (const std::string& name : option->get_snames()) shown.push_back("-" + name);
    for (const std::string& name : long_names) {
      if (name.starts_with("no-")) continue;
      const bool has_opposite =
          std::find(long_names.begin(), long_names.end(), "no-" + name) != long_names.end();
      shown.push_back((has_opposite ? "--[no-]" : "--") + name);
    }
    return base::Join(shown, ", ");
  }

  // CLI11 aligns what follows a line break, but breaks no lines itself.
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr size_t kDescriptionWidth = 72;
    std::string out;
    size_t used = 0;
    const std::string& text = option->get_description();
    for (const std::string_view word : base::Split(text, ' ')) {
      const bool breaks = used > 0 && used + 1 + word.size() > kDescriptionWidth;
      if (used > 0) out += breaks ? '\n' : ' ';
      used = breaks ? word.size() : used + word.size() + (used > 0 ? 1 : 0);
      out += word;
    }
    return out;
  }
};

std::string HelpText(const Command& command, const CLI::App& app) {
  std::string help = app.help();
  if (command.takes_command_line) {
    help = base::ReplaceAll(help, "[OPTIONS]\n", "[OPTIONS] -- COMMAND...\n");
  }
  return base::ReplaceAll(help, "\n\n\n", "\n\n");
}

// The candidate nearest to `typed`, or empty where none is near.
std::string_view Nearest(std::string_view typed, const std::vector<std::string>& candidates) {
  const size_t limit = std::max<size_t>(1, typed.size() / 3);
  std::string_view best;
  size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = base::EditDistance(typed, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string Suggestion(std::string_view typed, const std::vector<std::string>& candidates) {
  const std::string_view nearest = Nearest(typed, candidates);
  return nearest.empty() ? std::string() : Concat("; did you mean '", nearest, "'?");
}

// Where commands stand below `app`: what is wrong with the first word, empty where it is one.
std::string UnknownCommandMessage(const Command& command_of, const CLI::App& app,
                                  std::span<const std::string> words) {
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  if (below.empty()) return {};
  std::vector<std::string> names;
  if (words.empty()) {
    for (const CLI::App* command : below) names.push_back(command->get_name());
    return Concat("one of its commands is missing: ", base::Join(names, ", "));
  }
  if (words.front().starts_with('-')) return {};
  for (const CLI::App* command : below) {
    names.push_back(command->get_name());
    const std::vector<std::string>& others = command->get_aliases();
    names.insert(names.end(), others.begin(), others.end());
  }
  const std::string& word = words.front();
  if (std::find(names.begin(), names.end(), word) != names.end()) return {};
  const std::string_view advice =
      command_of.instead_of == nullptr ? std::string_view() : command_of.instead_of(word);
  if (!advice.empty()) return Concat("there is no '", word, "' here: ", advice);
  return Concat("unknown command '", word, "'", Suggestion(word, names));
}

// "probe compare", whose help has the options; "run" where nothing stands below the command.
std::string FullName(const Command& command, const CLI::App& app,
                     std::span<const std::string> words) {
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!words.empty() && below->check_name(words.front())) {
      return Concat(command.name, " ", below->get_name());
    }
  }
  return std::string(command.name);
}

// The command that was chosen below `app`, or `app` itself.
const CLI::App& Deepest(const CLI::App& app) {
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) deepest = deepest->get_subcommands().front();
  return *deepest;
}

bool HasLongOption(const CLI::App& app, std::string_view name) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (HasLongOption(*below, name)) return true;
  }
  return false;
}

// The tools we stand in for write "-tp PATH"; CLI11 knows one letter behind one dash.
std::string WithTwoDashes(const CLI::App& app, const std::string& word) {
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  const bool candidate = name.size() > 2 && name[0] == '-' && name[1] != '-';
  return candidate && HasLongOption(app, name.substr(1)) ? Concat("-", word) : word;
}

std::string UnknownOptionMessage(const CLI::App& app, std::string_view option) {
  std::vector<std::string> names;
  for (const CLI::Option* known : Deepest(app).get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::string_view typed = option.substr(0, option.find('='));
  return Concat("unknown option '", typed, "'", Suggestion(typed, names));
}

// The words that CLI11 did not take: an unknown option, or the command to run.
Result<std::vector<std::string>> TakeRest(const Command& command, const CLI::App& app) {
  std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return rest;
  if (rest.front().starts_with('-')) {
    return InvalidArgumentError(UnknownOptionMessage(app, rest.front()));
  }
  if (command.takes_command_line) return rest;
  return InvalidArgumentError(Concat("unexpected argument '", rest.front(), "'"));
}

int RunAction(const CommandAction& action, const Context& context) {
  Result<int> result = action(context);
  if (result.ok()) return *result;
  PrintError(result.status().message());
  return kExitFailure;
}

bool IsTruthWord(const std::string& word) {
  const std::string lower = base::ToLower(word);
  return lower == "true" || lower == "false";
}

// "--switch true" becomes "--switch=true", as trainers write their flags, instead of running the
// program `true`. Ends where the command to run begins; it is the last argument, unless
// `has_dashes`.
std::vector<std::string> JoinSwitchValues(const CLI::App& app, std::vector<std::string> words,
                                          bool has_dashes) {
  std::vector<std::string> joined;
  int values = 0;  // that the last option may still take
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (!word.starts_with('-')) {
      if (values-- == 0) {
        joined.insert(joined.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
        break;
      }
    } else {
      const CLI::Option* option = app.get_option_no_throw(word);
      values = option == nullptr ? 0 : option->get_items_expected_max();
      const size_t needed = has_dashes ? 2 : 3;
      if (option != nullptr && values == 0 && i + needed <= words.size() &&
          IsTruthWord(words[i + 1])) {
        word += Concat("=", base::ToLower(words[++i]));
      }
    }
    joined.push_back(std::move(word));
  }
  return joined;
}

// Parses the words of one command and runs it.
int RunCommandWords(const Command& command, std::span<const std::string> words, Context context) {
  CLI::App app(std::string(command.summary), Concat("sonde ", command.name));
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(Concat("\nExample:\n  ", base::ReplaceAll(command.example, "\n", "\n  ")));
  app.allow_extras();  // reported below with better messages
  if (command.takes_command_line) app.prefix_command();
  const CommandAction action = command.declare(app);

  const std::string unknown = UnknownCommandMessage(command, app, words);
  if (!unknown.empty()) return WrongUsage(context, unknown);
  const std::string full_name = FullName(command, app, words);
  context.command_name = full_name;

  const auto dashes =
      command.takes_command_line ? std::find(words.begin(), words.end(), "--") : words.end();
  std::vector<std::string> reversed(words.begin(), dashes);
  for (std::string& word : reversed) word = WithTwoDashes(app, word);
  if (command.takes_command_line) {
    reversed = JoinSwitchValues(app, std::move(reversed), dashes != words.end());
  }
  std::reverse(reversed.begin(), reversed.end());  // as CLI11 wants them
  if (dashes != words.end()) context.command_line.assign(dashes + 1, words.end());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const std::string help = HelpText(command, app);
    PrintText(help);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return WrongUsage(context, error.what());
  }
  Result<std::vector<std::string>> rest = TakeRest(command, app);
  if (!rest.ok()) return WrongUsage(context, rest.status().message());
  if (!rest->empty()) {
    // The command began before the "--", which is therefore its own.
    if (dashes != words.end()) rest->emplace_back("--");
    rest->insert(rest->end(), context.command_line.begin(), context.command_line.end());
    context.command_line = std::move(*rest);
  }
  return RunAction(action, context);
}

int PrintLicenses(const Context& context) {
  const Result<std::string> texts = LicenseTexts(context.layout.home);
  if (!texts.ok()) {
    PrintError(texts.status().message());
    return kExitFailure;
  }
  PrintText(*texts);
  return kExitOk;
}

std::span<const Command>::iterator FindCommand(std::span<const Command> commands,
                                               std::string_view name) {
  return std::ranges::find(commands, name, &Command::name);
}

int DispatchWords(std::span<const Command> commands, std::span<const std::string> arguments,
                  Context context) {
  if (arguments.empty()) return WrongUsage(context, "no command given");
  std::string name = arguments.front();
  std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (name == "msprobe") {  // commands of that tool go on as they are
    name = "probe";
    const std::string first = words.empty() ? "" : words.front();
    if (first == "-V" || first == "--version") name = "--version";
    // Its generation before: msprobe -f pytorch compare.
    if (first == "-f" && words.size() > 1) words.erase(words.begin(), words.begin() + 2);
  }
  if (name == "--version") {
    PrintText(Concat("sonde ", SONDE_VERSION, "\n"));
    return kExitOk;
  }
  if (name == "--licenses") return PrintLicenses(context);
  if (name == "help" && !words.empty()) {
    name = words.front();
    words.assign({"--help"});
  }
  if (name == "--help" || name == "-h" || name == "help") {
    PrintOverview(commands);
    return kExitOk;
  }
  if (name.starts_with('-')) {
    return WrongUsage(context, Concat("unknown option '", name, "'; a command comes first"));
  }
  // "cluster map" is a command of its own, though `cluster` takes other words, too.
  if (!words.empty() && FindCommand(commands, Concat(name, " ", words.front())) != commands.end()) {
    name += Concat(" ", words.front());
    words.erase(words.begin());
  }
  const auto command = FindCommand(commands, name);
  if (command == commands.end()) {
    std::vector<std::string> names;
    for (const Command& known : commands) names.emplace_back(known.name);
    return WrongUsage(context, Concat("unknown command '", name, "'", Suggestion(name, names)));
  }
  context.command_name = command->name;
  if (const Status collectives = store::CheckCollectives(); !collectives.ok()) {
    PrintError(collectives.message());
    return kExitUsage;
  }
  return RunCommandWords(*command, words, std::move(context));
}

}  // namespace

void PrintText(std::string_view text) {
  const std::string shown = base::ForTerminal(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void PrintJson(std::string_view json) {
  const std::string shown = Concat(base::JsonForTerminal(json), "\n");
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void PrintError(std::string_view message) { PrintLine("sonde: error: ", message); }
void PrintNotice(std::string_view message) {
  const char* quiet = std::getenv(kQuietVariable);
  if (quiet == nullptr || std::string_view(quiet) != "1") PrintLine("sonde: ", message);
}

int WrongUsage(const Context& context, std::string_view message) {
  const std::string_view space = context.command_name.empty() ? "" : " ";
  PrintError(Concat(OneLine(message), " (see 'sonde", space, context.command_name, " --help')"));
  return kExitUsage;
}

int Dispatch(std::span<const Command> commands, std::span<const std::string> arguments,
             Context context) {
  const int status = DispatchWords(commands, arguments, std::move(context));
  if (status != kExitOk || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return status;
  PrintError("cannot write to standard output: is the disk full?");
  return kExitFailure;
}

}  // namespace sonde::cli

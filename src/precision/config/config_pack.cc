#include "precision/config/config_pack.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>

#include "base/files.h"
#include "base/host/yaml_file.h"
#include "base/secrets.h"
#include "base/strings.h"
#include "precision/archive/zip_file.h"
#include "precision/dump/pretty_json.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::YamlNode;

constexpr std::string_view kBlanks = " \t\r\n";

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string JsonText(std::string_view text) {
  std::string out;
  AppendJsonText(text, &out);
  return out;
}

std::string JsonObject(const NamedTexts& members) {
  std::string out = "{";
  for (const auto& [name, value] : members) {
    out += Concat(out.size() > 1 ? ",\n    " : "\n    ", JsonText(name), ": ", value);
  }
  return out + (out.size() > 1 ? "\n}" : "}");
}

NamedTexts Environment() {
  NamedTexts out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || base::IsSecretName(text.substr(0, equals))) {
      continue;
    }
    out.emplace_back(text.substr(0, equals), JsonText(base::MaskedText(text.substr(equals + 1))));
  }
  return out;
}

// "name=version" lines of the packages of this shell's Python.
Result<std::string> Packages() {
  constexpr const char* kCommand =
      "python3 -c 'import importlib.metadata as m\n"
      "for d in m.distributions():\n"
      "    print(str(d.metadata[\"Name\"]) + \"=\" + str(d.version))' 2>/dev/null";
  // A constant command; the shell finds the user's own python3.
  // NOLINTNEXTLINE(bugprone-command-processor)
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(kCommand, "r"), &pclose);
  std::string out;
  std::array<char, 4096> buffer;
  while (pipe != nullptr) {
    const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (got == 0) break;
    out.append(buffer.data(), got);
  }
  if (out.empty()) return base::NotFoundError("python3 lists no packages here");
  return out;
}

// Without comments and blank lines.
std::string CommandsOf(std::string_view script) {
  std::string out;
  for (const std::string_view line : base::Split(script, '\n')) {
    std::string_view text = line.substr(0, line.find('#'));
    while (!text.empty() && kBlanks.find(text.back()) != std::string_view::npos) {
      text.remove_suffix(1);
    }
    if (!text.empty()) out += Concat(text, "\n");
  }
  return out;
}

// From the first launcher to the end of its line or to the next pipe; empty when there is none.
std::string LaunchCommand(std::string_view commands) {
  size_t begin = std::string_view::npos;
  for (const std::string_view launcher : {"msrun", "torchrun", "-m torch.distributed.launch"}) {
    for (size_t at = commands.find(launcher); at != std::string_view::npos;
         at = commands.find(launcher, at + 1)) {
      const size_t end = at + launcher.size();
      if (end < commands.size() && kBlanks.find(commands[end]) != std::string_view::npos) {
        begin = std::min(begin, at);
        break;
      }
    }
  }
  if (begin == std::string_view::npos) return {};
  size_t end = std::min(commands.find_first_of("|\n", begin), commands.size());
  // A line goes on behind a backslash.
  while (end < commands.size() && commands[end] == '\n' && commands[end - 1] == '\\') {
    end = std::min(commands.find_first_of("|\n", end + 1), commands.size());
  }
  return std::string(commands.substr(begin, end - begin));
}

// The texts of all variables of the script, the last of each.
std::map<std::string, std::string, std::less<>> VariablesOf(std::string_view commands) {
  std::map<std::string, std::string, std::less<>> out;
  for (size_t at = commands.find('='); at != std::string_view::npos;
       at = commands.find('=', at + 1)) {
    size_t begin = at;
    while (begin > 0 && IsWord(commands[begin - 1])) --begin;
    const bool at_word = begin == 0 || kBlanks.find(commands[begin - 1]) != std::string_view::npos;
    if (begin == at || !at_word || at + 1 >= commands.size()) continue;
    const char quote = commands[at + 1];
    size_t from = at + 1;
    size_t end = commands.find('\n', from);
    if (quote == '"' || quote == '\'') end = commands.find(quote, ++from);
    if (end == std::string_view::npos) end = commands.size();
    out[std::string(commands.substr(begin, at - begin))] =
        base::ReplaceAll(commands.substr(from, end - from), "\n", " ");
    at = std::min(end, commands.size() - 1);
  }
  return out;
}

// "$NAME" and "${NAME}" become the variable's text; unknown ones stay.
std::string Expand(std::string_view text,
                   const std::map<std::string, std::string, std::less<>>& variables, int depth) {
  constexpr int kMaxDepth = 8;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool brace = i + 1 < text.size() && text[i + 1] == '{';
    const size_t begin = i + (brace ? 2 : 1);
    size_t end = begin;
    while (text[i] == '$' && end < text.size() && IsWord(text[end])) ++end;
    const auto found = text[i] == '$' && end > begin
                           ? variables.find(text.substr(begin, end - begin))
                           : variables.end();
    if (found == variables.end() || depth > kMaxDepth) {
      out += text[i];
      continue;
    }
    out += Expand(found->second, variables, depth + 1);
    i = brace && end < text.size() && text[end] == '}' ? end : end - 1;
  }
  return out;
}

std::vector<std::string> WordsOf(std::string_view command) {
  std::vector<std::string> out;
  size_t at = 0;
  constexpr std::string_view kDividers = " \t\r\n\\";
  while ((at = command.find_first_not_of(kDividers, at)) != std::string_view::npos) {
    const size_t end = std::min(command.find_first_of(kDividers, at), command.size());
    out.emplace_back(command.substr(at, end - at));
    at = end;
  }
  return out;
}

void Put(std::string name, std::string value, NamedTexts* out) {
  const auto known =
      std::find_if(out->begin(), out->end(), [&](const auto& m) { return m.first == name; });
  if (known == out->end()) {
    out->emplace_back(std::move(name), std::move(value));
  } else {
    known->second = std::move(value);
  }
}

std::string YamlScalar(const std::string& text) {
  std::string lower = base::ToLower(text);
  if (lower == "true" || lower == "false") return lower;
  if (base::ParseInt64(text)) return text;
  if (base::ParseDouble(text) && text.find_first_of("0123456789") != std::string::npos) {
    return base::PythonDoubleText(*base::ParseDouble(text));
  }
  return JsonText(text);
}

std::string YamlList(const YamlNode& node) {
  std::string out = "[";
  for (const YamlNode& item : node.items) {
    if (out.size() > 1) out += ", ";
    out += item.IsList() ? YamlList(item) : YamlScalar(item.text);
  }
  return out + "]";
}

void AddYaml(const YamlNode& node, const std::string& path, NamedTexts* out) {
  const auto below = [&path](const std::string& name) {
    return path.empty() ? name : Concat(path, ".", name);
  };
  const auto is_map = [](const YamlNode& item) { return item.IsMap(); };
  if (node.IsMap()) {
    for (const auto& [name, value] : node.members) AddYaml(value, below(name), out);
  } else if (node.IsText()) {
    Put(path, YamlScalar(base::MaskedValue(path, node.text)), out);
  } else if (node.IsList() && std::none_of(node.items.begin(), node.items.end(), is_map)) {
    Put(path, YamlList(node), out);
  } else if (node.IsList()) {
    for (size_t i = 0; i < node.items.size(); ++i) {
      AddYaml(node.items[i], below(std::to_string(i)), out);
    }
  }
}

Result<NamedTexts> ParametersOf(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, size_t{1} << 24U));
  const std::string ending = base::ToLower(base::Extension(path));
  if (ending == ".sh") return ShellParameters(text);
  if (ending == ".yaml" || ending == ".yml") return YamlParameters(text, path);
  return base::InvalidArgumentError(Concat(path, ": a launch script ends in .sh or .yaml"));
}

}  // namespace

NamedTexts ShellParameters(std::string_view script) {
  const std::string commands = CommandsOf(script);
  const std::string command = Expand(LaunchCommand(commands), VariablesOf(commands), 0);
  const std::vector<std::string> words = WordsOf(command);
  NamedTexts out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--") || words[i].size() == 2) continue;
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    if (equals != std::string::npos) {
      Put(name, JsonText(base::MaskedValue(name, words[i].substr(equals + 1))), &out);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      Put(name, JsonText(base::MaskedValue(name, words[++i])), &out);
    } else {
      Put(name, "true", &out);
    }
  }
  return out;
}

Result<NamedTexts> YamlParameters(const std::string& text, std::string_view source) {
  SONDE_ASSIGN_OR_RETURN(const YamlNode root, base::ParseYaml(text, source));
  NamedTexts out;
  AddYaml(root, "", &out);
  return out;
}

Result<PackOutcome> PackConfiguration(const std::vector<std::string>& scripts,
                                      const std::string& output) {
  if (!output.ends_with(".zip")) {
    return base::InvalidArgumentError(Concat("the pack '", output, "' must end in .zip"));
  }
  PackOutcome out;
  out.file = output;
  NamedTexts parameters;
  for (const std::string& script : scripts) {
    SONDE_ASSIGN_OR_RETURN(const NamedTexts found, ParametersOf(script));
    if (found.empty()) out.notes.push_back(Concat(script, " holds no launch command or values"));
    for (const auto& [name, value] : found) Put(name, value, &parameters);
  }
  const NamedTexts variables = Environment();
  NamedTexts members = {{"env", JsonObject(variables)}};
  if (Result<std::string> packages = Packages(); packages.ok()) {
    const std::string& text = packages.value();
    out.packages = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    members.emplace_back("pip", text);
  } else {
    out.notes.emplace_back(packages.status().message());
  }
  if (!parameters.empty()) {
    members.emplace_back("hyperparameters/hyperparameters_static.json", JsonObject(parameters));
  }
  out.variables = variables.size();
  out.parameters = parameters.size();
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(output))));
  // Also without secrets it shows how a machine is set up.
  constexpr mode_t kOnlyForTheUser = 0600;
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile file,
                         base::AtomicFile::Create(output, {.mode = kOnlyForTheUser}));
  SONDE_RETURN_IF_ERROR(file.Append(MakeZip(members)));
  SONDE_RETURN_IF_ERROR(file.Commit());
  return out;
}

}  // namespace sonde::precision

#include "precision/config/log_arguments.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/pretty_json.h"
#include "precision/dump/value.h"
#include "report/csv_files.h"

namespace sonde::precision {
namespace {

using base::Concat;
using ArgumentKind = LogArgument::Kind;

constexpr std::string_view kBegin = "------------------------ arguments ------------------------";
constexpr std::string_view kEnd = "-------------------- end of arguments ---------------------";
// Arguments that do not describe the model.
constexpr std::string_view kIgnoredArguments = "profile";

bool IsLineBlank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

bool IsFloatText(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  const size_t mark = text.find_first_of("eE");
  if (mark != std::string_view::npos) {
    std::string_view exponent = text.substr(mark + 1);
    if (exponent.starts_with('+') || exponent.starts_with('-')) exponent.remove_prefix(1);
    if (!base::IsDigits(exponent)) return false;
    text = text.substr(0, mark);
  }
  const size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view rest =
      dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  if (!whole.empty()) return base::IsDigits(whole) && (rest.empty() || base::IsDigits(rest));
  return base::IsDigits(rest);
}

ArgumentKind KindOf(std::string_view text) {
  if (text == "True" || text == "False") return ArgumentKind::kBool;
  if (base::IsDigits(text.starts_with('-') ? text.substr(1) : text)) return ArgumentKind::kInt;
  return IsFloatText(text) ? ArgumentKind::kFloat : ArgumentKind::kText;
}

// "  name ..... value": the first run of dots that stands between blanks divides them.
std::optional<LogArgument> ParseLine(std::string_view line) {
  while (!line.empty() && IsLineBlank(line.back())) line.remove_suffix(1);
  if (line.empty() || !IsLineBlank(line[0])) return std::nullopt;
  for (size_t at = line.find('.'); at != std::string_view::npos; at = line.find('.', at + 1)) {
    size_t end = at;
    while (end < line.size() && line[end] == '.') ++end;
    if (!IsLineBlank(line[at - 1]) || end == line.size() || !IsLineBlank(line[end])) {
      at = end - 1;
      continue;
    }
    LogArgument out;
    out.name = base::Trim(line.substr(0, at));
    out.text = base::Trim(line.substr(end));
    out.kind = KindOf(out.text);
    return out;
  }
  return std::nullopt;
}

// The value as JSON, and as Python shows it.
std::string JsonOf(const LogArgument& argument) {
  std::string out;
  switch (argument.kind) {
    case ArgumentKind::kBool:
      return argument.text == "True" ? "true" : "false";
    case ArgumentKind::kInt:
      return argument.text;
    case ArgumentKind::kFloat: {
      const bool plus = argument.text.starts_with('+');
      const auto value = base::ParseDouble(std::string_view(argument.text).substr(plus ? 1 : 0));
      const std::string text = base::PythonDoubleText(value.value_or(0));
      return text == "inf" ? "Infinity" : text == "-inf" ? "-Infinity" : text;
    }
    case ArgumentKind::kText:
      AppendJsonText(argument.text, &out);
      return out;
  }
  return out;
}

std::string ShownOf(const LogArgument& argument) {
  if (argument.kind == ArgumentKind::kBool) return argument.text;
  if (argument.kind != ArgumentKind::kText)
    return Value::FromLiteral(JsonOf(argument)).PythonText();
  std::string out;
  AppendPythonRepr(argument.text, &out);
  return out;
}

// Whether Python finds the values equal: True is 1, 1 is 1.0.
bool AreEqual(const LogArgument& a, const LogArgument& b) {
  if (a.kind == ArgumentKind::kText || b.kind == ArgumentKind::kText) {
    return a.kind == b.kind && a.text == b.text;
  }
  const auto number = [](const LogArgument& value) {
    if (value.kind == ArgumentKind::kBool) return value.text == "True" ? 1.0 : 0.0;
    return Value::FromLiteral(JsonOf(value)).AsDouble();
  };
  return number(a) == number(b);
}

std::string JsonOfAll(const std::vector<LogArgument>& arguments) {
  std::string out = "{";
  for (const LogArgument& argument : arguments) {
    out += out.size() > 1 ? ",\n  " : "\n  ";
    AppendJsonText(argument.name, &out);
    out += Concat(": ", JsonOf(argument));
  }
  return out + (out.size() > 1 ? "\n}" : "}");
}

Result<std::vector<LogArgument>> ReadMegatronLog(const std::string& path) {
  const std::string ending = base::ToLower(base::Extension(path));
  if (ending != ".log" && ending != ".txt") {
    return base::InvalidArgumentError(Concat(path, ": a log ends in .log or .txt"));
  }
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::Open(path));
  Result<std::vector<LogArgument>> arguments = ParseLogArguments(file.text());
  return std::move(arguments.Annotate(path));
}

using ByName = std::map<std::string_view, const LogArgument*>;

ByName IndexOf(const std::vector<LogArgument>& arguments) {
  ByName out;
  for (const LogArgument& argument : arguments) out[argument.name] = &argument;
  return out;
}

std::string TableOf(const std::vector<LogArgument>& target, const std::vector<LogArgument>& golden,
                    LogComparison* outcome) {
  ByName names = IndexOf(golden);
  const ByName goldens = names;
  const ByName targets = IndexOf(target);
  names.insert(targets.begin(), targets.end());
  // A byte order mark, and the words of the reference.
  std::string out = "\xEF\xBB\xBF超参名称,NPU生效值,bench生效值,是否一致\n";
  for (const auto& [name, ignored] : names) {
    if (name.find(kIgnoredArguments) != std::string_view::npos) continue;
    const auto t = targets.find(name);
    const auto g = goldens.find(name);
    const bool both = t != targets.end() && g != goldens.end();
    const bool same = both && AreEqual(*t->second, *g->second);
    ++outcome->arguments;
    if (!same) ++outcome->differ;
    report::AppendCsvCell(name, &out);
    out += ',';
    report::AppendCsvCell(t == targets.end() ? "NA" : ShownOf(*t->second), &out);
    out += ',';
    report::AppendCsvCell(g == goldens.end() ? "NA" : ShownOf(*g->second), &out);
    out += same ? ",是\n" : ",否\n";
  }
  return out;
}

}  // namespace

Result<std::vector<LogArgument>> ParseLogArguments(std::string_view log) {
  const size_t begin = log.find(kBegin);
  if (begin == std::string_view::npos) {
    return base::CorruptDataError("the log holds no block of arguments");
  }
  const size_t from = begin + kBegin.size();
  const size_t end = log.find(kEnd, from);
  if (end == std::string_view::npos) {
    return base::CorruptDataError("the block of arguments has no end");
  }
  std::vector<LogArgument> out;
  for (const std::string_view line : base::Split(log.substr(from, end - from), '\n')) {
    std::optional<LogArgument> argument = ParseLine(line);
    if (!argument) continue;
    const auto same = [&](const LogArgument& other) { return other.name == argument->name; };
    const auto known = std::find_if(out.begin(), out.end(), same);
    if (known == out.end()) {
      out.push_back(std::move(*argument));
    } else {
      *known = std::move(*argument);
    }
  }
  return out;
}

Result<LogComparison> CompareLogArguments(const std::string& target, const std::string& golden,
                                          const std::string& output_path) {
  SONDE_ASSIGN_OR_RETURN(const std::vector<LogArgument> t, ReadMegatronLog(target));
  SONDE_ASSIGN_OR_RETURN(const std::vector<LogArgument> g, ReadMegatronLog(golden));
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(output_path));
  LogComparison out;
  const auto write = [&](std::string_view name, const std::string& text) {
    out.files.push_back(base::JoinPath(output_path, name));
    return base::WriteFileAtomically(out.files.back(), text);
  };
  SONDE_RETURN_IF_ERROR(write("NPU_config.json", JsonOfAll(t)));
  SONDE_RETURN_IF_ERROR(write("bench_config.json", JsonOfAll(g)));
  SONDE_RETURN_IF_ERROR(write("hyper_params_compare.csv", TableOf(t, g, &out)));
  return out;
}

}  // namespace sonde::precision

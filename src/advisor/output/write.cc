#include "advisor/output/write.h"

#include <algorithm>
#include <cmath>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "cluster/output/write.h"
#include "report/time_stamp.h"

namespace sonde::advisor {
namespace {

using base::Concat;

// As the shell reads it.
std::string ShellWord(std::string_view text) {
  return Concat("'", base::ReplaceAll(text, "'", "'\\''"), "'");
}

// The list that the operator tuner of CANN reads, as Python writes it; "" without operators.
std::string TuningList(const Report& report) {
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  json.Key("tune_ops_name");
  json.BeginArray();
  std::vector<std::string> known;
  for (const Advice& advice : report.advice) {
    for (const std::string& op : advice.tuned_ops) {
      if (std::find(known.begin(), known.end(), op) != known.end()) continue;
      known.push_back(op);
      json.String(op);
    }
  }
  json.EndArray();
  json.EndObject();
  return known.empty() ? std::string() : json.Take();
}

std::string Numbered(const std::vector<std::string>& suggestions) {
  std::string text;
  for (size_t i = 0; i < suggestions.size(); ++i) {
    text += Concat(i == 0 ? "" : "\n", std::to_string(i + 1), ". ", suggestions[i]);
  }
  return text;
}

Value Known(double value) { return std::isnan(value) ? Value() : Value(value); }

}  // namespace

std::string_view NameOf(Priority priority) {
  switch (priority) {
    case Priority::kHigh:
      return "high";
    case Priority::kMedium:
      return "medium";
    case Priority::kLow:
      return "low";
    case Priority::kNone:
      return "";
  }
  return "";
}

std::string EvidenceText(const Report& report, const Advice& advice) {
  const bool is_chinese = report.language == Language::kChinese;
  const Evidence& evidence = advice.evidence;
  const auto duration = [](double us) {
    return base::FormatDuration(static_cast<int64_t>(std::llround(us * 1e3)));
  };
  std::string text = is_chinese ? Concat(std::to_string(evidence.occurrences), " 次")
                                : base::CountOf(evidence.occurrences, "time");
  if (!std::isnan(evidence.total_us)) text += Concat(", ", duration(evidence.total_us));
  if (!std::isnan(evidence.gain_us)) {
    text +=
        Concat(is_chinese ? "；最多可节省 " : "; could gain at most ", duration(evidence.gain_us));
    if (!evidence.gain_formula.empty()) {
      text += Concat(is_chinese ? "（" : " (", evidence.gain_formula, is_chinese ? "）" : ")");
    }
  }
  return text;
}

std::string PlaceCommand(const Advice& advice) {
  if (advice.evidence.place_slice < 0) return {};
  return Concat("sonde view ", ShellWord(advice.path));
}

std::string QueryCommand(const Advice& advice) {
  const Evidence& evidence = advice.evidence;
  if (evidence.statement.empty()) return {};
  std::string command = Concat("sonde query ", ShellWord(advice.path));
  if (!evidence.baseline.empty()) command += Concat(" --baseline ", ShellWord(evidence.baseline));
  return Concat(command, " ", ShellWord(evidence.statement));
}

std::vector<std::vector<Value>> ProblemRows(const Report& report) {
  std::vector<std::vector<Value>> rows;
  for (const char* heading : {"category", "description", "suggestion", "problem count",
                              "total_time(us)", "time ratio", "income(us)", "income ratio"}) {
    if (rows.empty()) rows.emplace_back();
    rows[0].emplace_back(std::string(heading));
  }
  for (const Advice& advice : report.advice) {
    if (!advice.rule->is_reference) continue;
    rows.push_back({advice.title, advice.description, Numbered(advice.suggestions),
                    advice.problem_count, advice.total_us, advice.time_ratio, Value(), Value()});
  }
  return rows;
}

std::vector<std::vector<Value>> EvidenceRows(const Report& report) {
  std::vector<std::vector<Value>> rows(1);
  for (const char* heading :
       {"rule", "section", "priority", "confidence", "rank", "title", "description", "suggestion",
        "occurrences", "total_time(us)", "gain(us)", "gain formula", "slice", "trace", "statement",
        "baseline"}) {
    rows[0].emplace_back(std::string(heading));
  }
  for (const Advice& advice : report.advice) {
    const Evidence& evidence = advice.evidence;
    const auto known = [](int64_t number) { return number < 0 ? Value() : Value(number); };
    rows.push_back({advice.rule->name, std::string(NameOf(advice.rule->section)),
                    std::string(NameOf(advice.priority)), advice.rule->confidence,
                    known(advice.rank), advice.title, advice.description,
                    Numbered(advice.suggestions), evidence.occurrences, Known(evidence.total_us),
                    Known(evidence.gain_us), evidence.gain_formula, known(evidence.place_slice),
                    advice.path, evidence.statement, evidence.baseline});
  }
  return rows;
}

Result<std::vector<std::string>> Write(const Report& report, const std::string& folder) {
  std::vector<std::string> files;
  if (report.advice.empty()) return files;
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder, 0750));
  const std::string logs = base::JoinPath(folder, "log");
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(logs, 0750));
  const std::string name = Concat("mstt_advisor_", report::TimeStamp());
  files.push_back(base::JoinPath(folder, Concat(name, ".html")));
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(files.back(), HtmlOf(report)));
  files.push_back(base::JoinPath(logs, Concat(name, ".xlsx")));
  SONDE_RETURN_IF_ERROR(WriteWorkbook(report, files.back()));
  if (report.cluster) {
    SONDE_ASSIGN_OR_RETURN(const cluster::Written written,
                           cluster::Write(*cluster::FindMode("all"), *report.cluster,
                                          cluster::FormOf("", *report.cluster),
                                          base::JoinPath(folder, "cluster_analysis_output")));
    files.insert(files.end(), written.files.begin(), written.files.end());
    if (!written.db.empty()) files.push_back(written.db);
  }
  const std::string list = TuningList(report);
  if (!list.empty()) {
    files.push_back(
        base::JoinPath(folder, Concat("operator_tuning_file_", name.substr(13), ".cfg")));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(files.back(), list));
  }
  return files;
}

}  // namespace sonde::advisor

// `sonde compare`: the performance of two traces, side by side.
#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "cli/cluster_options.h"
#include "cli/command.h"
#include "cli/compare_options.h"
#include "compare/output/write.h"

namespace sonde::cli {
namespace {

compare::Form FormOf(const std::string& name) {
  if (name == "csv") return compare::Form::kCsv;
  if (name == "html") return compare::Form::kHtml;
  return name == "db" ? compare::Form::kDb : compare::Form::kExcel;
}

constexpr int kExitFailIf = 3;

void WriteStages(const compare::Judgement& judgement, base::JsonWriter& json) {
  json.Key("stages");
  json.BeginArray();
  for (const compare::Stage& stage : judgement.stages) {
    json.BeginObject();
    json.Key("stage");
    json.String(stage.name);
    if (!stage.device.empty()) {
      json.Key("device");
      json.String(stage.device);
    }
    for (const auto& [name, value] :
         {std::pair("base_ms", stage.base.mean_ms),
          std::pair("comparison_ms", stage.comparison.mean_ms), std::pair("diff_ms", stage.diff_ms),
          std::pair("low_ms", stage.low_ms), std::pair("high_ms", stage.high_ms)}) {
      json.Key(name);
      json.Double(value);
    }
    json.Key("base_steps");
    json.Int(stage.base.steps);
    json.Key("comparison_steps");
    json.Int(stage.comparison.steps);
    json.Key("verdict");
    json.String(compare::TextOf(stage.verdict));
    json.EndObject();
  }
  json.EndArray();
}

void WriteTexts(std::initializer_list<std::pair<const char*, std::string_view>> texts,
                base::JsonWriter& json) {
  for (const auto& [name, text] : texts) {
    json.Key(name);
    json.String(text);
  }
}

void WriteNumbers(std::initializer_list<std::pair<const char*, double>> numbers,
                  base::JsonWriter& json) {
  for (const auto& [name, number] : numbers) {
    json.Key(name);
    json.Double(number);
  }
}

void WriteCauses(const compare::Judgement& judgement, base::JsonWriter& json) {
  json.Key("causes");
  json.BeginArray();
  for (const compare::Cause& cause : judgement.causes) {
    json.BeginObject();
    WriteTexts({{"cause", compare::TextOf(cause.cause)},
                {"subject", cause.subject},
                {"module", cause.module}},
               json);
    WriteNumbers({{"base_ms", cause.base_ms},
                  {"comparison_ms", cause.comparison_ms},
                  {"diff_ms", cause.DiffMs()},
                  {"low_ms", cause.low_ms},
                  {"high_ms", cause.high_ms}},
                 json);
    WriteTexts({{"kind", compare::TextOf(compare::KindOf(cause.cause))},
                {"verdict", compare::TextOf(cause.verdict)},
                {"evidence", cause.evidence}},
               json);
    json.EndObject();
  }
  json.EndArray();
}

void WriteTree(const compare::Judgement& judgement, base::JsonWriter& json) {
  json.Key("tree");
  json.BeginArray();
  for (const compare::TreeNode& node : judgement.tree) {
    json.BeginObject();
    json.Key("parent");
    if (node.parent < 0) {
      json.Null();
    } else {
      json.Int(node.parent);
    }
    WriteTexts(
        {{"node", node.kind}, {"name", node.name}, {"verdict", compare::TextOf(node.verdict)}},
        json);
    WriteNumbers({{"base_ms", node.base_ms},
                  {"comparison_ms", node.comparison_ms},
                  {"base_calls", node.base_calls},
                  {"comparison_calls", node.comparison_calls}},
                 json);
    json.EndObject();
  }
  json.EndArray();
}

void PrintReportJson(const compare::Report& report, const std::vector<std::string>& files,
                     const std::vector<std::string>& failed) {
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  WriteStages(report.judgement, json);
  json.Key("aligned_share");
  json.Double(report.judgement.aligned_share);
  WriteCauses(report.judgement, json);
  WriteTree(report.judgement, json);
  for (const auto& [name, list] : {std::pair("notices", &report.notices),
                                   std::pair("files", &files), std::pair("failed", &failed)}) {
    json.Key(name);
    json.BeginArray();
    for (const std::string& text : *list) json.String(text);
    json.EndArray();
  }
  json.EndObject();
  PrintJson(json.Take());
}

void PrintTable(const compare::Report& report, const std::vector<std::string>& files) {
  std::string text = compare::SentencesOf(report.judgement) + report.table;
  for (const std::string& file : files) text += file + "\n";
  PrintText(text);
}

Result<int> Compare(const CompareOptions& options, const compare::Request& request,
                    const std::vector<compare::FailCondition>& conditions) {
  const std::string folder = ClusterPath(options.output);
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(folder).Annotate(
      "results cannot be written, name another folder with -o"));
  SONDE_ASSIGN_OR_RETURN(const compare::Report report, compare::Compare(request, PrintNotice));
  for (const std::string& notice : report.notices) PrintNotice(notice);
  SONDE_ASSIGN_OR_RETURN(const auto files,
                         compare::Write(report, FormOf(options.export_type), folder));
  std::vector<std::string> failed;
  Status unchecked;
  for (const compare::FailCondition& condition : conditions) {
    const auto check = compare::CheckFail(condition, report.judgement);
    if (!check.ok()) {
      unchecked = check.status();
    } else if (!check->failed.empty()) {
      failed.push_back(check->failed);
    } else if (!check->spared.empty()) {
      PrintNotice(check->spared);
    }
  }
  if (options.format == "json") {
    PrintReportJson(report, files, failed);
  } else {
    PrintTable(report, files);
  }
  SONDE_RETURN_IF_ERROR(unchecked);
  for (const std::string& line : failed) PrintError(line);
  return failed.empty() ? kExitOk : kExitFailIf;
}

CommandAction DeclareCompare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  AddCompareOptions(app, *options);
  return [options](const Context& context) -> Result<int> {
    const auto request = RequestOf(*options);
    if (!request.ok()) return WrongUsage(context, request.status().message());
    std::vector<compare::FailCondition> conditions;
    for (const std::string& text : options->fail_if) {
      const auto condition = compare::ParseFailCondition(text);
      if (!condition.ok()) return WrongUsage(context, condition.status().message());
      conditions.push_back(*condition);
    }
    return Compare(*options, *request, conditions);
  };
}

}  // namespace

Command CompareCommand() {
  return {.name = "compare",
          .summary = "Compare the performance of two traces ('sonde probe compare': their numbers)",
          .example =
              "sonde compare -d ./new -bp ./old -o ./result\n"
              "sonde compare -d ./npu/rank0_ascend_pt -bp ./gpu/trace.json "
              "--enable_operator_compare\n"
              "sonde compare -d ./new -bp ./old --fail-if 'step > 3%' --format json\n"
              "sonde compare -d ./new1 ./new2 ./new3 -bp ./old1 ./old2 ./old3",
          .declare = &DeclareCompare};
}

}  // namespace sonde::cli

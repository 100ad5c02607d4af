#include "serve/result_message.h"

namespace sonde::serve {

std::vector<ResultColumnMessage> ColumnsOf(std::span<const store::ResultColumnInfo> columns) {
  std::vector<ResultColumnMessage> messages;
  for (const store::ResultColumnInfo& column : columns) {
    const std::string_view sql = store::ResultSqlType(column.type);
    ResultColumnMessage& added = messages.emplace_back();
    added.name = column.name;
    added.type = sql == "BIGINT" ? "integer" : sql == "DOUBLE" ? "real" : "text";
    added.unit = column.unit;
    added.role = column.role.role;
    added.better = column.role.better;
    added.space = column.role.space;
    added.meaning = column.meaning;
  }
  return messages;
}

FindingMessage MessageOf(const recipes::Finding& finding, int32_t trace,
                         recipes::Language language) {
  FindingMessage message;
  message.trace = trace;
  message.rank = static_cast<int32_t>(finding.rank);
  message.step = finding.step;
  message.rule = finding.rule;
  message.severity = finding.severity;
  message.confidence = finding.confidence;
  message.subject = finding.subject;
  message.value = finding.value;
  message.unit = finding.unit;
  message.limit = finding.limit;
  message.text = recipes::TextOf(finding, language);
  message.evidence = finding.evidence;
  return message;
}

recipes::Language LanguageOf(std::string_view name) {
  return name == "zh" ? recipes::Language::kChinese : recipes::Language::kEnglish;
}

}  // namespace sonde::serve

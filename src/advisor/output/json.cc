#include <cmath>

#include "advisor/output/write.h"
#include "base/host/json_writer.h"
#include "base/strings.h"

namespace sonde::advisor {
namespace {

using base::JsonWriter;

void WriteValue(const Value& value, JsonWriter& json) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    json.Int(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    json.Double(*real);
  } else {
    json.String(TextOf(value));
  }
}

void WriteRow(const std::vector<Value>& row, JsonWriter& json) {
  json.BeginArray();
  for (const Value& value : row) WriteValue(value, json);
  json.EndArray();
}

void WriteTable(const std::string& name, const std::vector<Value>& headings,
                const std::vector<std::vector<Value>>& rows, size_t first, JsonWriter& json) {
  json.Key(name);
  json.BeginObject();
  json.Key("headers");
  WriteRow(headings, json);
  json.Key("data");
  json.BeginArray();
  for (size_t i = first; i < rows.size(); ++i) WriteRow(rows[i], json);
  json.EndArray();
  json.EndObject();
}

// Those sheets that the reference prints in this mode.
bool IsPrinted(const Advice& advice) {
  return advice.rule->section == Section::kComparison || advice.rule->name == "over_all" ||
         advice.rule->name == "slow_rank" || advice.rule->name == "slow_link";
}

void WriteTexts(std::string_view key, const std::vector<std::string>& texts, JsonWriter& json) {
  json.Key(key);
  json.BeginArray();
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

void WriteAdvice(const Report& report, JsonWriter& json) {
  json.Key("advice");
  json.BeginArray();
  const auto rows = EvidenceRows(report);
  for (size_t i = 1; i < rows.size(); ++i) {
    json.BeginObject();
    for (size_t column = 0; column < rows[0].size(); ++column) {
      const std::string heading = TextOf(rows[0][column]);
      const Value& value = rows[i][column];
      json.Key(heading);
      if (std::holds_alternative<std::monostate>(value)) {
        json.Null();
      } else {
        WriteValue(value, json);
      }
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteSilences(const Report& report, JsonWriter& json) {
  json.Key("not_judged");
  json.BeginArray();
  for (const Silence& silence : report.silences) {
    json.BeginObject();
    json.Key("rule");
    json.String(silence.rule);
    json.Key(silence.is_failure ? "error" : "lacks");
    json.String(silence.why);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string AgentLine(const Report& report, const std::vector<std::string>& files) {
  JsonWriter json(nullptr, JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  json.Key("status");
  json.String("success");
  json.Key("code");
  json.Int(0);
  json.Key("message");
  json.BeginObject();
  if (!report.advice.empty()) {
    const auto rows = ProblemRows(report);
    WriteTable("problems", rows[0], rows, 1, json);
    for (const Advice& advice : report.advice) {
      if (!IsPrinted(advice) || advice.sheet.rows.empty()) continue;
      const std::vector<Value> headings(advice.sheet.columns.begin(), advice.sheet.columns.end());
      WriteTable(advice.sheet.name, headings, advice.sheet.rows, 0, json);
    }
    WriteAdvice(report, json);
  }
  WriteSilences(report, json);
  WriteTexts("files", files, json);
  json.EndObject();
  json.Key("suggestion");
  json.String(report.advice.empty() ? "No optimization suggestions found." : "");
  json.EndObject();
  return json.Take();
}

std::string AgentErrorLine(const Status& status) {
  JsonWriter json(nullptr, JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  json.Key("status");
  json.String("error");
  json.Key("code");
  json.Int(1);
  json.Key("message");
  json.BeginObject();
  json.Key("err");
  json.String(status.message());
  json.EndObject();
  json.EndObject();
  return json.Take();
}

}  // namespace sonde::advisor

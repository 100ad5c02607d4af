#include "adapt/python/self_test_report.h"

#include <cstdio>
#include <utility>

namespace sonde::adapt {
namespace {

void AppendText(std::string* out, const char* text) {
  out->push_back('"');
  for (const char* c = text; *c != '\0'; c++) {
    if (*c == '"' || *c == '\\') out->push_back('\\');
    out->push_back(static_cast<unsigned char>(*c) < 0x20 ? ' ' : *c);
  }
  out->push_back('"');
}

}  // namespace

void SelfTestReport::Add(const char* name, bool passed, const char* detail) {
  if (check_count == kMaxChecks) return;
  Check& check = checks[check_count++];
  check.name = name;
  check.passed = passed;
  std::snprintf(check.detail, sizeof(check.detail), "%s", detail);
}

bool SelfTestReport::AllPassed() const {
  for (int i = 0; i < check_count; i++) {
    if (!checks[i].passed) return false;
  }
  return true;
}

ReportText::ReportText(const char* framework, const char* framework_version,
                       const std::string& python_version, bool attached,
                       const SelfTestReport& report) {
  json_.push_back('{');
  AppendText(&json_, framework);
  json_.append(": ");
  AppendText(&json_, framework_version);
  json_.append(", \"python\": ");
  AppendText(&json_, python_version.substr(0, python_version.find(' ')).c_str());
  json_.append(attached ? ", \"attached\": true" : ", \"attached\": false");
  json_.append(", \"checks\": [");
  for (int i = 0; i < report.check_count; i++) {
    const Check& check = report.checks[i];
    json_.append(i > 0 ? ", {\"part\": " : "{\"part\": ");
    AppendText(&json_, check.name);
    json_.append(check.passed ? ", \"ok\": true, \"detail\": " : ", \"ok\": false, \"detail\": ");
    AppendText(&json_, check.detail);
    json_.push_back('}');
  }
  json_.append("], \"records\": {");
}

void ReportText::SetRecorded(const char* what, bool is_recorded) {
  if (json_.back() != '{') json_.append(", ");
  AppendText(&json_, what);
  json_.append(is_recorded ? ": true" : ": false");
}

std::string ReportText::Take() {
  json_.append("}}");
  return std::move(json_);
}

}  // namespace sonde::adapt

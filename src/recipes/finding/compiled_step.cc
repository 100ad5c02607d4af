// Recorded steps in which the framework compiled something: they are longer than others for it. Of
// a program without steps the whole recording.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/host/fixed.h"
#include "base/strings.h"
#include "recipes/compilation/compilation.h"
#include "recipes/finding/rules.h"

namespace sonde::recipes {
namespace {

using base::Concat;

struct CompiledStep {
  int64_t count = 0;
  int64_t ns = 0;
  const CompilationRow* longest = nullptr;
};

// A compilation before that is in the capture, too.
int64_t BeginOfRecording(const TraceData& data) {
  int64_t begin = INT64_MAX;
  for (const store::SliceRow& slice : data.slices) begin = std::min(begin, slice.ts);
  return begin;
}

std::string WhatWasCompiled(const CompilationRow& row) {
  std::string what(row.function.empty() ? row.compile_id : row.function);
  if (!row.file.empty()) what += Concat(" (", row.file, ":", std::to_string(row.line), ")");
  return what;
}

}  // namespace

void AddCompiledSteps(const DeviceView& view, std::vector<Finding>& findings) {
  CompilationTexts texts;
  const std::vector<CompilationRow> rows = Compilations(*view.data, texts);
  if (rows.empty()) return;
  const bool has_steps = !view.data->steps.empty();
  const int64_t begin = has_steps ? INT64_MAX : BeginOfRecording(*view.data);
  std::map<int64_t, CompiledStep> steps;
  for (const CompilationRow& row : rows) {
    if (row.step_id < 0 && row.start_ns < begin) continue;
    CompiledStep& step = steps[row.step_id];
    ++step.count;
    step.ns += row.dur_ns;
    if (step.longest == nullptr || row.dur_ns > step.longest->dur_ns) step.longest = &row;
  }
  for (const auto& [number, step] : steps) {
    const CompilationRow& row = *step.longest;
    Finding finding;
    finding.rule = "compiled_step";
    finding.severity = "info";
    if (number >= 0) finding.step = number;
    finding.subject = "compilation";
    finding.value = static_cast<double>(step.ns) / 1e6;
    finding.unit = "ms";
    finding.text_key = has_steps ? "compiled_step" : "compiled_recording";
    finding.arguments = {std::to_string(step.count), base::Fixed(finding.value, 0),
                         WhatWasCompiled(row),
                         row.reason.empty() ? std::string("@compiled_step.first")
                                            : Concat("@compiled_step.again|", row.reason)};
    finding.evidence = "SELECT * FROM compilation";
    if (has_steps) {
      finding.arguments.insert(finding.arguments.begin(), std::to_string(number));
      finding.evidence += Concat(" WHERE step_id = ", std::to_string(number));
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace sonde::recipes

// Recorded steps in which the framework compiled something: they are longer than others for it.
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

}  // namespace

void AddCompiledSteps(const DeviceView& view, std::vector<Finding>& findings) {
  CompilationTexts texts;
  const std::vector<CompilationRow> rows = Compilations(*view.data, texts);
  std::map<int64_t, CompiledStep> steps;
  for (const CompilationRow& row : rows) {
    if (row.step_id < 0) continue;
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
    finding.step = number;
    finding.subject = "compilation";
    finding.value = static_cast<double>(step.ns) / 1e6;
    finding.unit = "ms";
    finding.text_key = finding.rule;
    std::string what(row.function.empty() ? row.compile_id : row.function);
    if (!row.file.empty()) what += Concat(" (", row.file, ":", std::to_string(row.line), ")");
    finding.arguments = {std::to_string(number), std::to_string(step.count),
                         base::Fixed(finding.value, 0), std::move(what),
                         row.reason.empty() ? std::string("@compiled_step.first")
                                            : Concat("@compiled_step.again|", row.reason)};
    finding.evidence = Concat("SELECT * FROM compilation WHERE step_id = ", std::to_string(number));
    findings.push_back(std::move(finding));
  }
}

}  // namespace sonde::recipes

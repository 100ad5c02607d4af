// Figures of steps that the profiler's own files give, where they differ from those of the tables:
// a file that was cut off gives less than was measured.
#include <cmath>
#include <string>

#include "base/host/json.h"
#include "base/strings.h"
#include "recipes/finding/limits.h"
#include "recipes/finding/rules.h"

namespace sonde::recipes {
namespace {

using base::Concat;

std::string Ms(double us) {
  const auto tenths = static_cast<int64_t>(std::llround(us / 100));
  return Concat(std::to_string(tenths / 10), ".", std::to_string(tenths % 10));
}

// That of the step; nullptr where the tables have none.
const StepTraceRow* Computed(const DeviceView& view, int64_t device_id, std::string_view step) {
  for (const Device& device : view.devices) {
    if (device_id >= 0 && view.devices.size() > 1 && device.device_id != device_id) continue;
    for (const StepTraceRow& row : device.steps) {
      const std::string own = row.step_id ? std::to_string(*row.step_id) : "";
      if (own == step || (device.steps.size() == 1 && step.empty())) return &row;
    }
  }
  return nullptr;
}

void Compare(std::string_view what, double delivered_us, int64_t computed_ns,
             const base::JsonValue& step, std::vector<Finding>& findings) {
  const double computed_us = static_cast<double>(computed_ns) / 1e3;
  const double difference_us = std::fabs(delivered_us - computed_us);
  if (difference_us <= kDeliveredShare.value * delivered_us ||
      difference_us <= kDeliveredUs.value) {
    return;
  }
  Finding finding;
  finding.rule = "delivered";
  finding.severity = "warning";
  finding.subject = what;
  finding.value = computed_us / 1e3;
  finding.unit = "ms";
  finding.limit = delivered_us / 1e3;
  finding.text_key = "delivered.step";
  const std::string number = step["step"].AsString().value_or("");
  finding.step = base::ParseInt64(number).value_or(-1);
  finding.arguments = {step["file"].AsString().value_or(""), number, Concat("@delivered.", what),
                       Ms(delivered_us), Ms(computed_us)};
  finding.evidence = "SELECT * FROM step_trace";
  findings.push_back(std::move(finding));
}

}  // namespace

void AddDelivered(const DeviceView& view, std::vector<Finding>& findings) {
  const auto known = view.data->metadata.find("delivered_steps");
  if (known == view.data->metadata.end()) return;
  const auto document = base::JsonDocument::Parse(known->second, known->first);
  if (!document.ok()) return;
  for (const base::JsonValue& step : document->root().Elements()) {
    const StepTraceRow* computed =
        Computed(view, step["device"].AsInt().value_or(-1), step["step"].AsString().value_or(""));
    if (computed == nullptr) continue;
    Compare("computing", step["computing_us"].AsDouble().value_or(0), computed->computing_ns, step,
            findings);
    Compare("communication", step["communication_us"].AsDouble().value_or(0),
            computed->communication_ns, step, findings);
  }
}

}  // namespace sonde::recipes

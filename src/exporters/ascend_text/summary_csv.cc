// The small tables: steps, operators by type, host calls by name.
#include <cmath>
#include <memory>

#include "exporters/ascend_text/csv_files.h"
#include "recipes/api_statistic/api_statistic.h"
#include "recipes/op_statistic/op_statistic.h"
#include "report/csv_writer.h"

namespace sonde::exporters {
namespace {

using recipes::Device;
using recipes::DeviceView;
using recipes::StepTraceRow;
using report::CsvWriter;

void AddWhole(FileSet& files, std::string name, std::string text) {
  auto whole = std::make_shared<const std::string>(std::move(text));
  files.Add(std::move(name), 1, [whole](size_t, LineBuffer& out) { out.Append(*whole); });
}

void StepRow(const Device& device, const StepTraceRow& row, CsvWriter& csv) {
  csv.Int(device.device_id);
  if (row.step_id) {
    csv.Int(*row.step_id);
  } else {
    csv.Empty();
  }
  csv.Microseconds(row.computing_ns);
  csv.Microseconds(row.not_overlapped_ns);
  csv.Microseconds(row.overlapped_ns);
  csv.Microseconds(row.communication_ns);
  csv.Microseconds(row.free_ns);
  csv.Microseconds(row.stage_ns);
  csv.Microseconds(row.bubble_ns);
  csv.Microseconds(row.not_overlapped_without_receive_ns);
  csv.Microseconds(row.preparing_ns);
  csv.EndRow();
}

// Nanoseconds that are not whole, as microseconds with three decimals.
int64_t RoundedNs(double ns) { return std::llround(ns); }

// As a double throughout: the variance of calls of minutes is beyond 64 bits of thousandths.
double RoundTo3(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

void AddStepTraceTime(const ExportContext& context, FileSet& files) {
  CsvWriter csv(nullptr);
  csv.Row({"Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped",
           "Communication", "Free", "Stage", "Bubble",
           "Communication(Not Overlapped and Exclude Receive)", "Preparing"});
  bool has_rows = false;
  for (const Device& device : context.view.devices) {
    for (const StepTraceRow& row : device.steps) {
      StepRow(device, row, csv);
      has_rows = true;
    }
  }
  if (has_rows) AddWhole(files, "step_trace_time.csv", csv.Take());
}

void AddOpStatistic(const ExportContext& context, FileSet& files, const std::string& name) {
  const auto rows = recipes::OpStatistic(context.view);
  if (rows.empty()) return;
  CsvWriter csv(nullptr);
  csv.Row({"Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)",
           "Avg Time(us)", "Max Time(us)", "Ratio(%)"});
  for (const recipes::OpStatisticRow& row : rows) {
    csv.Int(row.device_id);
    csv.Text(row.op_type);
    csv.Text(row.core);
    csv.Int(row.count);
    csv.Microseconds(row.total_ns);
    csv.Microseconds(row.min_ns);
    csv.Microseconds(RoundedNs(row.average_ns));
    csv.Microseconds(row.max_ns);
    csv.Double(RoundTo3(row.ratio_percent));
    csv.EndRow();
  }
  AddWhole(files, name, csv.Take());
}

void AddApiStatistic(const ExportContext& context, FileSet& files, const std::string& name) {
  recipes::ApiTexts texts;
  const auto rows = recipes::ApiStatistic(context.view, texts);
  if (rows.empty()) return;
  CsvWriter csv(nullptr);
  csv.Row({"Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)",
           "Variance"});
  for (const recipes::ApiStatisticRow& row : rows) {
    csv.Text("host");
    csv.Text(row.level);
    csv.Text(row.name);
    csv.Microseconds(row.total_ns);
    csv.Int(row.count);
    csv.Microseconds(row.average_ns);
    csv.Microseconds(row.min_ns);
    csv.Microseconds(row.max_ns);
    csv.Double(RoundTo3(row.variance_us2));
    csv.EndRow();
  }
  AddWhole(files, name, csv.Take());
}

}  // namespace sonde::exporters

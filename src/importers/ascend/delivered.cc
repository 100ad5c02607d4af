#include "importers/ascend/delivered.h"

#include <array>
#include <cmath>
#include <optional>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "importers/ascend_text/csv_reader.h"

namespace sonde::importers {
namespace {

// The place of a column; the number of columns where there is none.
size_t PlaceOf(const std::vector<std::string>& header, std::string_view name) {
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return i;
  }
  return header.size();
}

// Microseconds with decimals as whole nanoseconds.
std::optional<int64_t> NsOfUs(std::string_view us) {
  const auto value = base::ParseDouble(base::Trim(us));
  if (!value || !(std::fabs(*value) < 1e15)) return std::nullopt;
  return std::llround(*value * 1e3);
}

}  // namespace

std::string DeliveredStepsJson(std::string_view file, const std::vector<DeliveredStep>& steps) {
  base::JsonWriter json(nullptr);
  json.BeginArray();
  for (const DeliveredStep& step : steps) {
    json.BeginObject();
    json.Key("file");
    json.String(file);
    json.Key("step");
    json.String(step.step);
    json.Key("device");
    json.Int(step.device_id);
    json.Key("computing_us");
    json.Double(step.computing_us);
    json.Key("communication_us");
    json.Double(step.communication_us);
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

std::vector<DeliveredStep> StepsOfCsv(std::string_view text) {
  const std::vector<std::string> header = ReadCsvHeader(text);
  const size_t device = PlaceOf(header, "Device_id");
  const size_t step = PlaceOf(header, "Step");
  const size_t computing = PlaceOf(header, "Computing");
  const size_t communication = PlaceOf(header, "Communication");
  std::vector<DeliveredStep> steps;
  ReadCsv(text, [&](const CsvRow& row, int64_t) {
    if (computing >= row.size() || communication >= row.size()) return;
    const auto computing_us = base::ParseDouble(base::Trim(row[computing]));
    const auto communication_us = base::ParseDouble(base::Trim(row[communication]));
    if (!computing_us || !communication_us) return;
    DeliveredStep delivered;
    if (step < row.size()) delivered.step = base::Trim(row[step]);
    if (device < row.size()) {
      delivered.device_id = base::ParseInt64(base::Trim(row[device])).value_or(-1);
    }
    delivered.computing_us = *computing_us;
    delivered.communication_us = *communication_us;
    steps.push_back(std::move(delivered));
  });
  return steps;
}

std::string DeliveredApiJson(std::string_view csv) {
  const std::vector<std::string> header = ReadCsvHeader(csv);
  const size_t level = PlaceOf(header, "Level");
  const size_t name = PlaceOf(header, "API Name");
  const size_t count = PlaceOf(header, "Count");
  const size_t variance = PlaceOf(header, "Variance");
  const std::array<size_t, 4> times = {PlaceOf(header, "Time(us)"), PlaceOf(header, "Avg(us)"),
                                       PlaceOf(header, "Min(us)"), PlaceOf(header, "Max(us)")};
  base::JsonWriter json(nullptr);
  json.BeginArray();
  ReadCsv(csv, [&](const CsvRow& row, int64_t) {
    const auto cell = [&](size_t place) {
      return place < row.size() ? base::Trim(row[place]) : std::string_view();
    };
    const auto calls = base::ParseInt64(cell(count));
    std::array<int64_t, times.size()> ns{};
    for (size_t i = 0; i < times.size(); ++i) {
      const auto time = NsOfUs(cell(times[i]));
      if (!time) return;
      ns[i] = *time;
    }
    if (!calls || cell(name).empty()) return;
    json.BeginArray();
    json.String(cell(level));
    json.String(cell(name));
    json.Int(*calls);
    for (const int64_t time : ns) json.Int(time);
    json.Double(base::ParseDouble(cell(variance)).value_or(0));
    json.EndArray();
  });
  json.EndArray();
  return json.Take();
}

}  // namespace sonde::importers

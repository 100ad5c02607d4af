#include "importers/ascend/delivered.h"

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "importers/ascend_text/csv_reader.h"

namespace sonde::importers {

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
  const auto column = [&](std::string_view name) {
    for (size_t i = 0; i < header.size(); ++i) {
      if (header[i] == name) return i;
    }
    return header.size();
  };
  const size_t device = column("Device_id");
  const size_t step = column("Step");
  const size_t computing = column("Computing");
  const size_t communication = column("Communication");
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

}  // namespace sonde::importers

// The frame by which a process learns what to open.
#include "store/statement_process.h"
#include "store/statement_wire.h"

namespace sonde::store::internal {

std::string PlanBytes(const StatementPlan& plan, const std::string& folder) {
  FrameBytes bytes;
  bytes.Put(plan.view);
  bytes.Put(static_cast<int32_t>(plan.threads));
  bytes.Put(plan.limits.memory_bytes);
  bytes.Put(plan.reads_files);
  bytes.Text(folder);
  bytes.Put(static_cast<uint32_t>(plan.files.size()));
  for (const StoreFile& file : plan.files) {
    bytes.Text(file.path);
    bytes.Put(file.is_pack);
    bytes.Put(static_cast<uint32_t>(file.traces.size()));
    for (const TraceLabel& label : file.traces) {
      bytes.Put(label.trace);
      bytes.Put(label.run);
      bytes.Put(label.rank);
      bytes.Put(label.place);
      bytes.Text(label.path);
    }
  }
  return std::string(bytes.view());
}

Result<StatementPlan> ReadPlan(std::string_view bytes, std::string& folder) {
  base::ByteReader reader(bytes);
  StatementPlan plan;
  plan.view = static_cast<StatementPlan::View>(reader.Read<uint8_t>());
  plan.threads = reader.Read<int32_t>();
  plan.limits.memory_bytes = reader.Read<int64_t>();
  plan.reads_files = reader.Read<uint8_t>() != 0;
  folder = ReadFrameText(reader);
  const auto files = reader.Read<uint32_t>();
  for (uint32_t i = 0; i < files && reader.ok(); ++i) {
    StoreFile& file = plan.files.emplace_back();
    file.path = ReadFrameText(reader);
    file.is_pack = reader.Read<uint8_t>() != 0;
    const auto traces = reader.Read<uint32_t>();
    for (uint32_t j = 0; j < traces && reader.ok(); ++j) {
      TraceLabel& label = file.traces.emplace_back();
      label.trace = reader.Read<int32_t>();
      label.run = reader.Read<int32_t>();
      label.rank = reader.Read<int32_t>();
      label.place = reader.Read<int32_t>();
      label.path = ReadFrameText(reader);
    }
  }
  if (!reader.ok()) return base::CorruptDataError("the plan of the statements is cut off");
  return plan;
}

}  // namespace sonde::store::internal

// Fuzz target of the importer of text deliverables: the first byte selects the file.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "importers/ascend_text/text_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sonde::importers::SpanFile;
  constexpr std::array<std::string_view, 8> kNames = {
      "kernel_details.csv",    "operator_memory.csv",      "memory_record.csv",
      "npu_module_mem.csv",    "op_summary_1.csv",         "communication.json",
      "operator_memory_1.csv", "communication_matrix.json"};
  if (size == 0) return 0;
  const std::string name(kNames[data[0] % kNames.size()]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const SpanFile file{name, name};
  sonde::importers::TraceRows rows;
  sonde::importers::text_import::TextTrace trace{.rows = rows};
  trace.process_id = rows.Process(0);
  if (name == "communication.json") {
    sonde::importers::text_import::RowsOfCommunication(file, text, trace);
  } else if (name == "communication_matrix.json") {
    sonde::importers::text_import::CheckCommunicationMatrix(file, text, rows.issues);
  } else {
    sonde::importers::text_import::RowsOfCsv(file, text, trace);
  }
  rows.Arrange();
  return 0;
}

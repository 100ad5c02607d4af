#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/files.h"
#include "cli/fuzz/analysed.h"
#include "cli/fuzz/inputs.h"
#include "importers/capture/testing/fuzz_capture.h"

namespace {

using namespace sonde;  // NOLINT(google-build-using-namespace): one file

constexpr std::array<std::string_view, 14> kDelivered = {
    "trace_view.json",      "kernel_details.csv",     "operator_details.csv",
    "step_trace_time.csv",  "operator_memory.csv",    "memory_record.csv",
    "npu_module_mem.csv",   "communication.json",     "communication_matrix.json",
    "api_statistic.csv",    "op_statistic.csv",       "data_preprocess.csv",
    "profiler_info_0.json", "profiler_metadata.json",
};

void Write(const std::string& path, std::string_view bytes) {
  if (!base::WriteFileAtomically(path, bytes).ok()) std::abort();
}

void MakeFolder(const std::string& path) {
  if (!base::MakeDirectories(path).ok()) std::abort();
}

// Pieces of a name (u8), a length (u16) and so many bytes are the files of a folder.
void WriteDelivered(std::string_view bytes, const std::string& span) {
  const std::string inside = span + "/ASCEND_PROFILER_OUTPUT";
  MakeFolder(inside);
  base::ByteReader reader(bytes);
  while (reader.ok() && reader.remaining() > 0) {
    const std::string_view name = kDelivered.at(reader.Read<uint8_t>() % kDelivered.size());
    const auto length = reader.Read<uint16_t>();
    const std::string_view text = reader.ReadText(std::min<size_t>(length, reader.remaining()));
    Write(base::JoinPath(name.starts_with("profiler_") ? span : inside, name), text);
  }
}

// A session of two processes, each with one half of the bytes.
void WriteSession(std::string_view bytes, const std::string& folder) {
  MakeFolder(folder);
  Write(folder + "/session.sonde_server", "");
  for (const auto& [span, part] :
       {std::pair("/frontend_1_ascend_pt", bytes.substr(0, bytes.size() / 2)),
        std::pair("/engine_2_ascend_pt", bytes.substr(bytes.size() / 2))}) {
    MakeFolder(folder + span);
    if (!importers::testing::WriteFuzzCapture(part, folder + span).ok()) std::abort();
  }
}

}  // namespace

namespace sonde::cli {

int FuzzAnalysis(std::string_view input) {
  if (input.size() < 2) return 0;
  const std::string_view bytes = input.substr(2);
  const std::string folder = FuzzFolder() + "/input";
  const std::string span = folder + "/host_1_20260101000000000_ascend_pt";
  if (!base::RemoveTree(folder).ok()) std::abort();
  switch (static_cast<uint8_t>(input[0]) % 5) {
    case 0:
      MakeFolder(span);
      if (!importers::testing::WriteFuzzCapture(bytes, span).ok()) std::abort();
      break;
    case 1:
      MakeFolder(folder);
      Write(folder + "/trace.json", bytes);
      break;
    case 2:
      WriteDelivered(bytes, span);
      break;
    case 3:
      WriteSession(bytes, folder);
      break;
    default:
      MakeFolder(span + "/ASCEND_PROFILER_OUTPUT");
      Write(span + "/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db", bytes);
  }
  return AnalyseAllOf(folder, input[1] % 2 == 0 ? "text" : "db");
}

}  // namespace sonde::cli

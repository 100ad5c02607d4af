// libFuzzer target: bytes as each of the other files that a user hands over: logs, launch scripts,
// result tables, packs. What comes out of one reader is shown and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "precision/archive/zip_file.h"
#include "precision/config/config_pack.h"
#include "precision/config/log_arguments.h"
#include "precision/config/verl_log.h"
#include "precision/kernels/kernel_dump.h"
#include "precision/merge/table_file.h"

namespace {

void ReadZip(std::string_view text) {
  const auto names = sonde::precision::ZipNames(text);
  if (!names.ok()) return;
  for (const std::string& name : *names)
    (void)sonde::precision::ReadZipMember(text, name, size_t{1} << 24U);
  (void)sonde::precision::ParseXlsx(text);
}

void ReadLog(std::string_view text) {
  (void)sonde::precision::ParseLogArguments(text);
  const auto config = sonde::precision::ParseVerlLog(text);
  if (!config.ok()) return;
  const std::string shown = config->Repr();
  size_t consumed = 0;
  (void)sonde::precision::ParsePythonValue(shown, &consumed);
  (void)config->Json();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadZip(text);
  ReadLog(text);
  (void)sonde::precision::ParseCsvTable(text);
  (void)sonde::precision::ShellParameters(text);
  sonde::precision::KernelRecord record;
  (void)sonde::precision::ParseKernelFileName(text, &record);
  return 0;
}

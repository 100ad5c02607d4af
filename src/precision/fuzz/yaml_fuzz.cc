// libFuzzer target: bytes as a mapping file, put through every reader of such files.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/host/yaml_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)sonde::base::ParseYaml(text, "mapping.yaml");
  return 0;
}

// The configuration of a training run, packed on one machine and compared with the pack of another:
// environment variables, Python packages, hyper-parameters from launch scripts.
//
// The pack is a zip file with the members that msProbe writes: env, pip,
// hyperparameters/hyperparameters_static.json. Variables that look like secrets are left out,
// secrets in other values are masked (base/secrets.h); the file is for its owner. Errors: Status.
// Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct PackOutcome {
  std::string file;
  size_t variables = 0;
  size_t packages = 0;
  size_t parameters = 0;
  std::vector<std::string> notes;
};
// `scripts`: shell scripts (.sh) and YAML files.
Result<PackOutcome> PackConfiguration(const std::vector<std::string>& scripts,
                                      const std::string& output);

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// Options of the launch command (msrun, torchrun, torch.distributed.launch) in a shell script, with
// their values as JSON; an option without value is true.
NamedTexts ShellParameters(std::string_view script);
// The leaves of a YAML file by their dotted paths, as JSON.
Result<NamedTexts> YamlParameters(const std::string& text, std::string_view source);

}  // namespace sonde::precision

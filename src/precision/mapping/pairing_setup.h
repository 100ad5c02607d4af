// Turns the mapping options of a comparison into the rules by which rows are paired.
//
// Errors: mapping files that cannot be read, mappings that make no sense for the two dumps.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "precision/compare/pairing.h"
#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"
#include "precision/mapping/mapping_use.h"

namespace sonde::precision {

struct MappingOptions {
  // Mapping files; an empty text stands for the built-in mapping.
  std::optional<std::string> cells;
  std::optional<std::string> apis;
  std::optional<std::string> layers;
  std::string data;  // empty: none

  bool any() const { return cells || apis || layers || !data.empty(); }
};

struct PairingSetup {
  PairingOptions options;
  // Result of a layer mapping: target parameter, golden parameter.
  std::vector<std::pair<std::string, std::string>> data_pairs;
  MappingUse use;  // of the files' lines, in this pair of dumps
  std::vector<std::string> notes;
};

Result<PairingSetup> SetUpPairing(const MappingOptions& mapping, const DumpFile& target,
                                  const ConstructFile& target_tree, const DumpFile& golden,
                                  const ConstructFile& golden_tree);

}  // namespace sonde::precision

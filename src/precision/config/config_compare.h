// Two packs of configuration (config_pack.h, or msProbe's) side by side, in one workbook.
//
// Sheets: summary, and one for each kind that both packs hold: env, pip, hyperparameters. Kinds
// that only a running model can pack (dataset, weights, random) are named, not compared.
// Errors: Status. Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct ConfigComparison {
  std::string file;
  // "env: error", in the order of the sheets.
  std::vector<std::string> verdicts;
  std::vector<std::string> notes;
};
Result<ConfigComparison> CompareConfigurations(const std::string& bench, const std::string& target,
                                               const std::string& output_path);

// How alike two texts are, from 0 to 1: twice the letters of their longest common pieces, found
// again and again to both sides, over all letters.
double Similarity(std::string_view a, std::string_view b);

}  // namespace sonde::precision

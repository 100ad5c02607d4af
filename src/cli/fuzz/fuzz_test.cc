// The short form of the fuzz targets: changed copies of the inputs that they start from.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/changed_inputs.h"
#include "cli/fuzz/inputs.h"

namespace sonde::cli {
namespace {

constexpr int kInputs = 40;

std::vector<std::string> SeedsOf(const std::string& target) {
  return base::FilesIn(std::string(SONDE_SOURCE_DIR) + "/test/fuzz/" + target);
}

TEST(Fuzz, Analysis) {
  const std::vector<std::string> seeds = SeedsOf("cli_analyse");
  for (const std::string& seed : seeds) EXPECT_EQ(FuzzAnalysis(seed), 1);
  base::RunChangedInputs("cli_analyse", seeds, kInputs, &FuzzAnalysis);
}

TEST(Fuzz, Stores) {
  EXPECT_EQ(FuzzStore("\2"), 1) << "without a statement";
  base::RunChangedInputs("cli_store", SeedsOf("cli_store"), kInputs, &FuzzStore);
}

}  // namespace
}  // namespace sonde::cli

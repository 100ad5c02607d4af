// The short form of the fuzz target: changed copies of the files that it starts from.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/changed_inputs.h"
#include "precision/fuzz/checkpoint_input.h"

namespace sonde::precision {
namespace {

TEST(Fuzz, Checkpoints) {
  const std::vector<std::string> seeds =
      base::FilesIn(std::string(SONDE_SOURCE_DIR) + "/test/fuzz/precision_checkpoint");
  for (const std::string& seed : seeds) EXPECT_GE(FuzzCheckpoint(seed), 1);
  constexpr int kInputs = 1000;
  base::RunChangedInputs("precision_checkpoint", seeds, kInputs, &FuzzCheckpoint);
}

}  // namespace
}  // namespace sonde::precision

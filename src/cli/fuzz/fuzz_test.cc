// The short form of the fuzz targets: changed copies of the inputs that they start from.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/fuzz/inputs.h"

namespace sonde::cli {
namespace {

// SONDE_FUZZ_INPUTS: of each target.
int Inputs() {
  const char* text = std::getenv("SONDE_FUZZ_INPUTS");
  return text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : 40;
}

std::vector<std::string> SeedsOf(const std::string& target) {
  const std::string folder = std::string(SONDE_SOURCE_DIR) + "/test/fuzz/" + target;
  std::vector<std::string> seeds;
  const auto entries = base::ListDirectory(folder);
  EXPECT_TRUE(entries.ok()) << folder;
  for (const base::DirectoryEntry& entry : *entries) {
    seeds.push_back(*base::ReadFile(base::JoinPath(folder, entry.name)));
  }
  return seeds;
}

// A few bytes other, a piece gone, twice or from elsewhere.
std::string Changed(std::string bytes, const std::vector<std::string>& seeds,
                    std::mt19937_64& random) {
  const auto below = [&](size_t end) { return end == 0 ? 0 : random() % end; };
  for (size_t i = 0, changes = 1 + below(6); i < changes; ++i) {
    const size_t at = below(bytes.size());
    const size_t length = std::min<size_t>(below(64), bytes.size() - at);
    switch (below(5)) {
      case 0:
        bytes.erase(at, length);
        break;
      case 1:
        bytes.insert(below(bytes.size()), bytes.substr(at, length));
        break;
      case 2: {
        const std::string& other = seeds[below(seeds.size())];
        bytes.insert(at, other.substr(below(other.size()), length));
        break;
      }
      case 3:
        for (size_t j = 0; j < std::min<size_t>(length, 8); ++j) {
          bytes[at + j] = static_cast<char>(random());
        }
        break;
      default:
        if (!bytes.empty())
          bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << below(8)));
    }
  }
  return bytes;
}

void RunInputs(const std::string& target, int (*input)(std::string_view)) {
  const std::vector<std::string> seeds = SeedsOf(target);
  ASSERT_GE(seeds.size(), 3U);
  std::mt19937_64 random(7);
  for (const std::string& seed : seeds) input(seed);
  for (int i = 0; i < Inputs(); ++i) {
    const std::string bytes = Changed(seeds[random() % seeds.size()], seeds, random);
    ASSERT_TRUE(base::WriteFileAtomically(testing::TempDir() + "/" + target + ".last", bytes).ok());
    input(bytes);
  }
}

TEST(Fuzz, Analysis) {
  for (const std::string& seed : SeedsOf("cli_analyse")) EXPECT_EQ(FuzzAnalysis(seed), 1);
  RunInputs("cli_analyse", &FuzzAnalysis);
}

TEST(Fuzz, Stores) {
  EXPECT_EQ(FuzzStore("\2"), 1) << "without a statement";
  RunInputs("cli_store", &FuzzStore);
}

}  // namespace
}  // namespace sonde::cli

// For tests: the short form of a fuzz target, which runs on changed copies of the inputs that the
// target starts from. The same copies each time; the last one is in the tests' temporary folder as
// TARGET.last, where a crash leaves it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace sonde::base {

inline std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> out;
  const auto entries = ListDirectory(folder);
  EXPECT_TRUE(entries.ok()) << folder;
  if (!entries.ok()) return out;
  for (const DirectoryEntry& entry : *entries)
    out.push_back(*ReadFile(JoinPath(folder, entry.name)));
  return out;
}

// Changes a few bytes, or removes, repeats or moves a piece.
inline std::string ChangedInput(std::string bytes, const std::vector<std::string>& seeds,
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

// Inputs a target: SONDE_FUZZ_INPUTS, else `usual`.
inline void RunChangedInputs(const std::string& target, const std::vector<std::string>& seeds,
                             int usual, int (*input)(std::string_view)) {
  ASSERT_GE(seeds.size(), 3U);
  const char* text = std::getenv("SONDE_FUZZ_INPUTS");  // NOLINT(concurrency-mt-unsafe)
  const int inputs = text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : usual;
  std::mt19937_64 random(7);
  for (const std::string& seed : seeds) input(seed);
  for (int i = 0; i < inputs; ++i) {
    const std::string bytes = ChangedInput(seeds[random() % seeds.size()], seeds, random);
    ASSERT_TRUE(WriteFileAtomically(testing::TempDir() + "/" + target + ".last", bytes).ok());
    input(bytes);
  }
}

}  // namespace sonde::base

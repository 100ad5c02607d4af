// For tests of files that are made from declarations in the sources, and are kept in the tree
// because people read them there. SONDE_UPDATE_GOLDEN=1 rewrites such a file (`make golden`, which
// runs the tests whose names end in "IsCurrent"); otherwise the test fails when it differs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/files.h"

namespace sonde::base {

inline void ExpectCurrent(const std::string& path, const std::string& made) {
  if (std::getenv("SONDE_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    ASSERT_TRUE(WriteFileAtomically(path, made).ok()) << path;
  }
  EXPECT_TRUE(ReadFile(path).value_or("") == made) << path << " is out of date: make golden";
}

}  // namespace sonde::base

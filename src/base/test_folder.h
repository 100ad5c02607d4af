// For tests: an empty folder of its own, removed with the object.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/files.h"

namespace sonde::base {

class TestFolder {
 public:
  TestFolder() : path_(JoinPath(::testing::TempDir(), "sonde_test_XXXXXX")) {
    CHECK(mkdtemp(path_.data()) != nullptr, "cannot make a folder for the test");
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { EXPECT_TRUE(RemoveTree(path_).ok()); }

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return JoinPath(path_, name); }

 private:
  std::string path_;
};

}  // namespace sonde::base

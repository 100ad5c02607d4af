// Imports captures that a test makes, and queries the store.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/import_trace.h"
#include "importers/testing/query_text.h"

namespace sonde::importers::testing {

class CaptureImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/sonde_import_test_" + std::to_string(::getpid()) +
              "/host9_4242_20240101_ascend_pt";
    ASSERT_TRUE(base::MakeDirectories(folder_).ok());
  }
  void TearDown() override {
    store_.reset();
    ASSERT_TRUE(base::RemoveTree(std::string(base::DirName(folder_))).ok());
  }

  void Import(const CaptureBuilder& capture, int threads = 2) {
    ASSERT_TRUE(capture.Write(folder_).ok());
    ImportWritten(threads);
  }
  void ImportWritten(int threads = 2) {
    const auto sources = FindTraces(std::string(base::DirName(folder_)));
    ASSERT_TRUE(sources.ok() && sources->size() == 1);
    auto imported = ImportTrace((*sources)[0], StorePath((*sources)[0]), {.threads = threads});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    store_ = std::move(imported->store);
    summary_ = std::move(imported->summary);
  }

  std::string Rows(const std::string& sql) { return QueryText(*store_, sql); }
  int64_t Issue(const std::string& code) {
    int64_t count = 0;
    for (const auto& issue : summary_.issues) count += issue.code == code ? issue.count : 0;
    return count;
  }

  std::string folder_;
  std::unique_ptr<store::Store> store_;
  ImportSummary summary_;
};

}  // namespace sonde::importers::testing

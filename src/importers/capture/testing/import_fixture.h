// Imports captures that a test makes, and asks the store.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/registry.h"

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

  // All cells of a small result, rows joined by newline.
  std::string Rows(const std::string& sql) {
    const auto result = store_->Query(sql);
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (!result.ok()) return "";
    std::string text;
    for (size_t row = 0; row < result->rows(); ++row) {
      for (size_t column = 0; column < result->columns().size(); ++column) {
        if (column > 0) text += ' ';
        text += Cell(*result, column, row);
      }
      text += '\n';
    }
    return text;
  }
  static std::string Cell(const store::ResultTable& table, size_t column, size_t row) {
    if (table.IsNull(column, row)) return "-";
    const auto& values = table.columns()[column].values;
    if (std::holds_alternative<std::vector<int64_t>>(values)) {
      return std::to_string(table.Int(column, row));
    }
    if (std::holds_alternative<std::vector<double>>(values)) {
      return std::to_string(table.Double(column, row));
    }
    return table.Text(column, row);
  }
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

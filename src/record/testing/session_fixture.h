// For the recorder's tests: a folder of its own and a session in it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_folder.h"
#include "record/testing/capture_checker.h"
#include "sonde/sonde.h"

namespace sonde::record {

inline constexpr uint32_t kAllFeatures = 0x7f;

inline sonde_session_config ConfigIn(const std::string& directory) {
  sonde_session_config config{};
  config.struct_size = sizeof(config);
  config.features = kAllFeatures;
  config.directory = directory.c_str();
  return config;
}

sonde_session_config ConfigIn(std::string&&) = delete;  // the config points into it

inline std::vector<CheckedRecord> OfKind(const CheckedCapture& capture, capture::RecordKind kind) {
  std::vector<CheckedRecord> found;
  for (const CheckedRecord& checked : capture.records) {
    if (capture::KindOf(checked.record) == kind) found.push_back(checked);
  }
  return found;
}

inline sonde_name Name(const std::string& text) { return sonde_intern(text.data(), text.size()); }

class SessionTest : public ::testing::Test {
 protected:
  void Start(sonde_session_config config) {
    ASSERT_EQ(sonde_session_start(&config), 0) << sonde_last_error();
  }
  void Start() { Start(ConfigIn(folder_.path())); }

  CheckedCapture Stop() {
    char path[512] = {};
    EXPECT_EQ(sonde_session_stop(path, sizeof(path)), 0) << sonde_last_error();
    CheckedCapture capture = CheckCapture(path);
    EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
    EXPECT_EQ(capture.truncated_bytes, 0u);
    EXPECT_EQ(capture.ring_files, 0u);
    EXPECT_TRUE(capture.end.has_value());
    return capture;
  }

  base::TestFolder folder_;
};

inline sonde_session_status CurrentStatus() {
  sonde_session_status status{};
  status.struct_size = sizeof(status);
  EXPECT_EQ(sonde_session_get_status(&status), 0);
  return status;
}

}  // namespace sonde::record

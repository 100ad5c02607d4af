// Samples of large traces are traces.
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/capture/sample.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/capture/testing/training_capture.h"
#include "importers/import_trace.h"
#include "importers/trace_events/sample.h"

namespace sonde::importers {
namespace {

using base::Concat;

// Begin, end and pieces in between, cut between events: a trace of its own.
Result<ImportedTrace> ImportSample(const std::string& path, const base::TestFolder& folder) {
  const std::string sample = folder.File("sample.json");
  EXPECT_FALSE(trace_events::WriteSample(path, sample).ok()) << "too small to gain";
  SONDE_RETURN_IF_ERROR(trace_events::WriteSample(path, sample, 1));
  SONDE_ASSIGN_OR_RETURN(const auto found, FindTraces(sample));
  EXPECT_EQ(found.size(), 1U);
  return ImportTrace(found.front(), folder.File("s.duckdb"), {});
}

TEST(Preview, IsATraceOfPieces) {
  const base::TestFolder folder;
  std::string text = "[";
  int events = 0;
  for (; text.size() < (size_t{9} << 20U); ++events) {
    text += Concat(events > 0 ? ",\n" : "", R"({"ph":"X","name":"op )", std::to_string(events % 50),
                   R"(","pid":1,"tid":)", std::to_string(events % 4), R"(,"ts":)",
                   std::to_string(events * 10), R"(,"dur":5,"args":{"a":[{"b":1},{"c":"}, {"}]}})");
  }
  text += ']';
  const std::string path = folder.File("trace.json");
  ASSERT_TRUE(base::WriteFileAtomically(path, text).ok());
  const auto imported = ImportSample(path, folder);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_LT(imported->summary.slices, events);
  EXPECT_GT(imported->summary.slices, events / 3);
  EXPECT_TRUE(imported->summary.issues.empty());
  // The last event is there: the whole span of time is shown.
  EXPECT_EQ(imported->summary.end_ns - imported->summary.begin_ns,
            (int64_t{events} - 1) * 10'000 + 5'000);
}

TEST(Preview, OfAPackedTraceIsItsBegin) {
  base::TestFolder folder;
  std::string text = R"({"traceEvents":[)";
  int events = 0;
  for (; text.size() < (size_t{14} << 20U); ++events) {
    text += Concat(events > 0 ? ",\n" : "", R"({"ph":"X","name":"op","pid":1,"tid":2,"ts":)",
                   std::to_string(events * 10), R"(,"dur":5,"args":{"a":[{"b":1},{"c":"}, {"}]}})");
  }
  text += "]}";
  const std::string path = folder.File("trace.json.gz");
  gzFile packed = gzopen(path.c_str(), "wb1");
  ASSERT_NE(packed, nullptr);
  ASSERT_EQ(gzwrite(packed, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(packed), Z_OK);
  const auto imported = ImportSample(path, folder);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_LT(imported->summary.slices, events);
  EXPECT_GT(imported->summary.slices, events / 2);
  EXPECT_TRUE(imported->summary.issues.empty());
}

TEST(Preview, OfACaptureIsItsBegin) {
  const base::TestFolder folder;
  testing::CaptureBuilder capture;
  const int64_t ops = testing::MakeTrainingCapture(capture, 400'000, {.with_shapes = false});
  const std::string span = folder.File("host_1_1_ascend_pt");
  ASSERT_TRUE(capture.Write(span).ok());
  const std::string sample = folder.File("begin_1_1_ascend_pt");
  EXPECT_EQ(WriteCaptureSample(span, sample).code(), base::StatusCode::kNotFound) << "too small";
  const Status status = WriteCaptureSample(base::JoinPath(span, "SONDE"), sample, 1);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto found = FindTraces(sample);
  ASSERT_TRUE(found.ok() && found->size() == 1U);
  const auto imported = ImportTrace(found->front(), folder.File("s.duckdb"), {});
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_GT(imported->summary.slices, 100'000);
  EXPECT_LT(imported->summary.slices, ops);
}

}  // namespace
}  // namespace sonde::importers

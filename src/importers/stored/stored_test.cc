#include "importers/stored/stored.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/test_folder.h"
#include "importers/capture/import.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/registry.h"

namespace sonde::importers {
namespace {

using testing::CaptureBuilder;

TEST(Stored, TakesThePlaceOfTheCapture) {
  const base::TestFolder folder;
  const std::string span = folder.File("host_1_1_ascend_pt");
  CaptureBuilder capture;
  capture.Thread(1, 4242, 1, "main");
  capture.Metadata("rank", "3");
  capture.Add(1, CaptureBuilder::Range{.kind = capture::RecordKind::kOp,
                                       .begin = 1000,
                                       .end = 2000,
                                       .name = capture.Name("aten::add")});
  capture.Flush(1);
  capture.End(capture::StopReason::kStopped, 0);
  ASSERT_TRUE(capture.Write(span).ok());
  EXPECT_FALSE(IsStored(span));
  auto found = FindTraces(span);
  ASSERT_TRUE(found.ok());
  const auto imported = ImportTrace((*found)[0], StorePath((*found)[0]), {.threads = 1});
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_FALSE(IsStored(span)) << "the records are there";

  ASSERT_TRUE(RemoveRawRecords(span).ok());
  EXPECT_FALSE(IsCapture(span));
  for (const std::string& path : {span, base::JoinPath(span, "SONDE")}) {
    EXPECT_TRUE(IsStored(path)) << path;
    EXPECT_EQ(StoredRank(path).value_or(-2), 3);
  }
  EXPECT_FALSE(IsStored(folder.path()));
  found = FindTraces(folder.path());
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_STREQ((*found)[0].importer->name, "stored");
  for (const auto& open : {ImportTrace, ImportUnpublished}) {
    const auto opened = open((*found)[0], folder.File("unused.duckdb"), {.threads = 1});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_TRUE(opened->store->is_complete());
    EXPECT_EQ(opened->store->Query("SELECT count(*) FROM slice")->Int(0, 0), 1);
  }
  EXPECT_FALSE(base::PathExists(folder.File("unused.duckdb")));
  const auto queried =
      OpenOrImport((*found)[0], {.threads = 1}, [](std::string_view line) { FAIL() << line; });
  EXPECT_TRUE(queried.ok()) << queried.status().message();
}

}  // namespace
}  // namespace sonde::importers

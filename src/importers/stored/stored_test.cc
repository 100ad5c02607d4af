#include "importers/stored/stored.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/capture/import.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/import_trace.h"

namespace sonde::importers {
namespace {

using testing::CaptureBuilder;

// A capture with two ranges in the folder, and its store next to it.
std::string MakeAnalysed(const base::TestFolder& folder) {
  std::string span = folder.File("host_1_1_ascend_pt");
  CaptureBuilder capture;
  capture.Thread(1, 4242, 1, "main");
  for (const uint64_t begin : {1000U, 3000U}) {
    capture.Add(1, CaptureBuilder::Range{.kind = capture::RecordKind::kOp,
                                         .begin = begin,
                                         .end = begin + 1000,
                                         .name = capture.Name("aten::add")});
  }
  capture.Flush(1);
  capture.End(capture::StopReason::kStopped, 0);
  EXPECT_TRUE(capture.Write(span).ok());
  const auto found = FindTraces(span);
  EXPECT_TRUE(found.ok() && ImportTrace((*found)[0], StorePath((*found)[0]), {.threads = 1}).ok());
  return span;
}

int64_t Slices(const store::Store& store) {
  const auto count = store.Query("SELECT count(*) FROM slice");
  return count.ok() ? count->Int(0, 0) : -1;
}

// In any state that a command finds: two slices, and the store keeps its content.
void ExpectNothingIsLost(const std::string& span, const std::string& where) {
  const auto found = FindTraces(span);
  ASSERT_TRUE(found.ok() && found->size() == 1) << where;
  const auto queried = OpenOrImport((*found)[0], {.threads = 1}, [](std::string_view) {});
  ASSERT_TRUE(queried.ok()) << where << queried.status().message();
  EXPECT_EQ(Slices(**queried), 2) << where;
  const auto imported = ImportUnpublished((*found)[0], StorePath((*found)[0]), {.threads = 1});
  ASSERT_TRUE(imported.ok()) << where << imported.status().message();
  const auto kept = store::Store::OpenReadOnly(StorePath((*found)[0]));
  ASSERT_TRUE(kept.ok()) << where;
  EXPECT_EQ(Slices(**kept), 2) << where;
}

// Each file of the capture gone or not, as kills between two removals in any order leave it.
TEST(Stored, LeftoversOfRecordsNeverReplaceTheirStore) {
  const std::vector<std::string> files = {"dictionary_000001.sonde", "events_000001.sonde"};
  for (unsigned gone = 0; gone < 1U << files.size(); ++gone) {
    const base::TestFolder folder;
    const std::string span = MakeAnalysed(folder);
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string path = base::JoinPath(base::JoinPath(span, "SONDE"), files[i]);
      if ((gone >> i & 1U) != 0) {
        ASSERT_TRUE(base::RemoveTree(path).ok());
      }
    }
    ExpectNothingIsLost(span, base::Concat("gone: ", std::to_string(gone), " "));
  }
}

TEST(Stored, TruncatedRecordsNeverReplaceTheirStore) {
  const base::TestFolder folder;
  const std::string span = MakeAnalysed(folder);
  const std::string events = base::JoinPath(span, "SONDE/events_000001.sonde");
  const auto bytes = base::ReadFile(events);
  ASSERT_TRUE(bytes.ok());
  for (const size_t size : {bytes->size() - 1, bytes->size() / 2, size_t{64}, size_t{0}}) {
    ASSERT_TRUE(base::WriteFileAtomically(events, bytes->substr(0, size)).ok());
    ExpectNothingIsLost(span, base::Concat("bytes: ", std::to_string(size), " "));
  }
}

TEST(Stored, ARemovalThatWasKilledIsFinished) {
  const base::TestFolder folder;
  const std::string span = MakeAnalysed(folder);
  const std::string inside = base::JoinPath(span, "SONDE");
  ASSERT_TRUE(base::WriteFileAtomically(base::JoinPath(inside, "records_removed"), "").ok());
  EXPECT_FALSE(IsCapture(span));
  ExpectNothingIsLost(span, "all files there ");
  EXPECT_FALSE(base::PathExists(base::JoinPath(inside, "events_000001.sonde")));
  EXPECT_FALSE(base::PathExists(base::JoinPath(inside, "records_removed")));
}

TEST(Stored, RecordsWithoutAStoreStay) {
  const base::TestFolder folder;
  const std::string span = MakeAnalysed(folder);
  ASSERT_TRUE(base::RemoveTree(base::JoinPath(span, "SONDE/trace.duckdb")).ok());
  EXPECT_EQ(RemoveRawRecords(span).code(), base::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(IsCapture(span));
}

TEST(Stored, AComparisonOfValuesIsOpenedWhereItLies) {
  const base::TestFolder folder;
  const std::string path = folder.File("compare_result_20260101000000.duckdb");
  const auto made = store::Store::Create(path);
  ASSERT_TRUE(made.ok() && (*made)->Publish().ok());
  const auto found = FindTraces(folder.path());
  ASSERT_TRUE(found.ok() && found->size() == 1);
  EXPECT_STREQ((*found)[0].importer->name, "comparison");
  EXPECT_EQ(StorePath((*found)[0]), path);
  const auto opened = OpenOrImport((*found)[0], {.threads = 1}, [](std::string_view) {});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ((*opened)->Query("SELECT count(*) FROM slice")->Int(0, 0), 0);
  EXPECT_FALSE((*found)[0].importer->holds_trace);
}

TEST(Stored, AComparisonThatWasRenamedIsKnownByItsTables) {
  const base::TestFolder folder;
  const std::string path = folder.File("mine.db");
  const auto made = store::Store::Create(path);
  ASSERT_TRUE(made.ok());
  auto transaction = (*made)->Begin();
  ASSERT_TRUE(transaction.ok() &&
              transaction->Execute("CREATE VIEW precision_md5 AS SELECT 1 AS step").ok() &&
              transaction->Commit().ok() && (*made)->Publish().ok());
  EXPECT_TRUE(HoldsComparison(path));
  const auto found = FindTraces(path);
  ASSERT_TRUE(found.ok() && found->size() == 1);
  EXPECT_STREQ((*found)[0].importer->name, "comparison");
  // Only a file that the user names is looked into.
  EXPECT_TRUE(FindTraces(folder.path())->empty());
  const std::string other = folder.File("other.db");
  ASSERT_TRUE(base::WriteFileAtomically(other, "SQLite format 3").ok());
  EXPECT_FALSE(HoldsComparison(other));
}

TEST(Stored, ReplacesTheCapture) {
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

// Packs hold the rows that stores hold, whatever wrote the traces; what is wrong with one is kept.
#include "job/packs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/capture/testing/training_capture.h"
#include "importers/import_rows.h"
#include "job/for_each_trace.h"
#include "job/open_rows.h"
#include "store/schema.h"

namespace sonde::job {
namespace {

std::string SharedDataFolder() {
  const char* folder = std::getenv("SONDE_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe)
  return folder != nullptr ? folder : SONDE_SHARED_DATA_DEFAULT;
}

auto Joined(const std::vector<store::StoreFile>& files) {
  return store::JointStore::Open(files, store::JointStore::Columns::kLeading);
}

const NoticeSink kSilent = [](std::string_view) {};

class PacksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("XDG_CACHE_HOME", folder_.File("cache").c_str(), 1), 0);
  }

  // One slice of a rank, as PyTorch's profiler writes it.
  void Write(int rank, const std::string& slice = "op") const {
    std::filesystem::create_directories(folder_.File("job"));
    std::ofstream(folder_.File(base::Concat("job/rank", std::to_string(rank), ".json")))
        << R"({"distributedInfo": {"rank": )" << rank
        << R"(}, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": ")" << slice
        << R"(", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}]})";
  }
  Job FindAll() const { return FindJob({folder_.File("job")}); }

  Result<JobFiles> OpenAll(const Job& job) {
    return OpenFiles(job, {.threads = 2, .notify = kSilent, .complain = [this](auto line) {
                             wrong_.emplace_back(line);
                           }});
  }

  base::TestFolder folder_;
  std::vector<std::string> wrong_;
};

std::vector<StampedTrace> Stamped(const Job& job) {
  std::vector<StampedTrace> traces;
  for (const Trace& trace : job.traces) {
    const auto stamp = importers::StampOf(trace.source);
    EXPECT_TRUE(stamp.ok()) << trace.source.path;
    traces.push_back({trace, stamp.value_or(0)});
  }
  return traces;
}

// The number of rows and a sum over all their cells.
std::string Digest(const store::JointStore& store, std::string_view table) {
  const auto digest = store.Query(
      base::Concat("SELECT count(*), sum(hash(t) % 1000000007)::VARCHAR FROM \"", table, "\" t"));
  EXPECT_TRUE(digest.ok()) << table << ": " << digest.status().message();
  if (!digest.ok()) return {};
  return base::Concat(table, " ", std::to_string(digest->Int(0, 0)), " ",
                      digest->IsNull(1, 0) ? "" : digest->Text(1, 0));
}

// The tables of all these traces, from packs and from stores.
void ExpectSameRows(const Job& job) {
  const std::vector<StampedTrace> traces = Stamped(job);
  const auto pack = MakePack(traces, kSilent, nullptr);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  std::vector<store::StoreFile> files;
  for (const Trace& trace : job.traces) {
    const auto store = importers::OpenOrImport(trace.source, {.threads = 1}, kSilent);
    ASSERT_TRUE(store.ok()) << store.status().message();
    files.push_back({(*store)->path(),
                     {{.trace = trace.number,
                       .run = trace.run,
                       .rank = trace.rank,
                       .path = trace.source.path}}});
  }
  ASSERT_GT(files.size(), 1U);
  EXPECT_TRUE(pack->failures.empty());
  const auto alone = Joined(files);
  const auto packed = Joined({pack->file});
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  for (const store::TableInfo& table : store::Tables()) {
    // Texts have other numbers; what is kept cell by cell is left out.
    if (table.name == "name_" || table.name.starts_with("source_")) continue;
    EXPECT_EQ(Digest(**alone, table.name), Digest(**packed, table.name));
  }
  for (const char* table : {"args", "trace"}) {
    EXPECT_EQ(Digest(**alone, table), Digest(**packed, table));
  }
}

TEST_F(PacksTest, HoldTheSameAsStoresOfPyTorchTraces) {
  ExpectSameRows(FindJob({SharedDataFolder() + "/field/14-serving-folder",
                          SharedDataFolder() + "/field/13-merged-ranks",
                          SharedDataFolder() + "/field/04-equal-times",
                          SharedDataFolder() + "/field/20-host-runs-ahead"}));
}

TEST_F(PacksTest, HoldTheSameAsStoresOfAscendDeliverables) {
  ExpectSameRows(FindJob({SharedDataFolder() + "/ascend_pt/text/level1",
                          SharedDataFolder() + "/ascend_pt/db/level1"}));
}

// A database for each of many small traces would cost ten times as much as reading them.
TEST_F(PacksTest, RowsOfFilesOfOthersNeedNoDatabase) {
  const Job job = FindJob(
      {SharedDataFolder() + "/ascend_pt/text/level1", SharedDataFolder() + "/ascend_pt/db/level1",
       SharedDataFolder() + "/mindspore_cpu/profiler", SharedDataFolder() + "/field"});
  ASSERT_GT(job.traces.size(), 10U);
  for (const Trace& trace : job.traces) {
    const auto imported =
        importers::ImportRows(trace.source, folder_.File("spare"), {.threads = 1}, kSilent);
    ASSERT_TRUE(imported.ok()) << trace.source.path << ": " << imported.status().message();
    EXPECT_NE(imported->store->rows(), nullptr) << trace.source.path;
  }
}

TEST_F(PacksTest, HoldTheSameAsStoresOfCaptures) {
  std::vector<std::string> spans;
  for (const int rank : {0, 1}) {
    importers::testing::CaptureBuilder capture;
    capture.Metadata("rank", std::to_string(rank));
    importers::testing::MakeTrainingCapture(capture, 500 + rank,
                                            {.with_shapes = true, .with_memory = true});
    spans.push_back(
        folder_.File(base::Concat("h_", std::to_string(rank + 7), "_20250109081616001_ascend_pt")));
    ASSERT_TRUE(capture.Write(spans.back()).ok());
  }
  ExpectSameRows(FindJob(spans));
}

TEST_F(PacksTest, ManySmallTracesAreFewFiles) {
  for (int rank = 0; rank < 70; ++rank) Write(rank);
  const auto opened = OpenAll(FindAll());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->files.size(), 2U);
  const auto store = Joined(opened->files);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto ranks = (*store)->Query(
      "SELECT count(DISTINCT rank), min(rank), max(rank), count(*), count(DISTINCT trace) "
      "FROM slice WHERE trace = rank AND name = 'op'");
  ASSERT_TRUE(ranks.ok()) << ranks.status().message();
  EXPECT_EQ(ranks->Int(0, 0), 70);
  EXPECT_EQ(ranks->Int(1, 0), 0);
  EXPECT_EQ(ranks->Int(2, 0), 69);
  EXPECT_EQ(ranks->Int(3, 0), 70);
  EXPECT_EQ(ranks->Int(4, 0), 70);
  EXPECT_EQ((*store)->Query("SELECT count(*) FROM trace JOIN process USING (trace)")->Int(0, 0),
            70);
}

TEST_F(PacksTest, FewSmallTracesAreOneFileForWhoReadsRows) {
  for (int rank = 0; rank < 3; ++rank) Write(rank);
  const Job job = FindAll();
  const auto open = [&](auto function) {
    const auto opened = function(job, OpenOptions{.threads = 2, .notify = kSilent, .complain = {}});
    EXPECT_TRUE(opened.ok() && opened->is_whole);
    return opened.ok() ? opened->files : std::vector<store::StoreFile>();
  };
  const auto packed = open(&OpenForRows);
  ASSERT_EQ(packed.size(), 1U);
  EXPECT_TRUE(packed[0].is_pack);
  EXPECT_EQ(packed[0].traces.size(), 3U);
  EXPECT_EQ(open(&OpenFiles).size(), 3U);  // statements see the copies of files, too
  const auto names = Joined(packed)->get()->Query("SELECT count(DISTINCT rank) FROM slice");
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(names->Int(0, 0), 3);
}

Result<importers::ImportSummary> Fail(const std::string& path, store::Store&,
                                      const importers::ImportOptions&) {
  if (path.ends_with("rank4.json")) return base::ResourceExhaustedError("no space");
  return base::CorruptDataError(base::Concat("'", path, "' is broken"));
}

TEST_F(PacksTest, SmallTracesThatAreReadByTableHaveNoneForWhoReadsRows) {
  for (int rank = 0; rank < 40; ++rank) Write(rank);
  Job job = FindAll();
  importers::Importer by_table = *job.traces[0].source.importer;
  by_table.reads_by_table = true;
  for (Trace& trace : job.traces) trace.source.importer = &by_table;
  const auto slices = [&](const JobFiles& opened) {
    constexpr recipes::Needs kNeeds = recipes::Reads<store::SliceRow>();
    std::vector<size_t> counts(job.traces.size());
    const auto failures = RunOverTraces(
        opened, kNeeds, {.threads = 2}, [&](const TraceInHand& trace, size_t /*place*/) -> Status {
          counts[static_cast<size_t>(trace.label.rank)] += trace.data.slices.size();
          return {};
        });
    EXPECT_TRUE(failures.empty());
    return counts;
  };
  const auto opened = OpenForRows(job, {.threads = 2, .notify = kSilent, .complain = {}});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_TRUE(opened->files.empty());
  EXPECT_EQ(opened->unstored.size(), 40U);
  EXPECT_EQ(slices(*opened), std::vector<size_t>(40, 1));
  EXPECT_TRUE(base::ListDirectory(folder_.File("cache/sonde/stores"))->empty());

  ASSERT_TRUE(OpenAll(job).ok());  // for statements
  const auto packed = OpenForRows(job, {.threads = 2, .notify = kSilent, .complain = {}});
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_TRUE(packed->unstored.empty());
  EXPECT_EQ(packed->files.size(), 1U);
  EXPECT_EQ(slices(*packed), std::vector<size_t>(40, 1));
}

TEST_F(PacksTest, ATraceWithoutAStoreThatCannotBeReadIsNamed) {
  for (int rank = 0; rank < 3; ++rank) Write(rank);
  Job job = FindAll();
  importers::Importer by_table = *job.traces[0].source.importer;
  by_table.reads_by_table = true;
  importers::Importer broken = by_table;
  broken.import = &Fail;
  for (Trace& trace : job.traces) trace.source.importer = &by_table;
  job.traces[1].source.importer = &broken;
  const auto opened = OpenForRows(job, {.threads = 2, .notify = kSilent, .complain = {}});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::atomic<int> seen = 0;
  const auto failures =
      RunOverTraces(*opened, recipes::Reads<store::SliceRow>(), {.threads = 2},
                    [&](const TraceInHand& /*trace*/, size_t /*place*/) -> Status {
                      ++seen;
                      return {};
                    });
  EXPECT_EQ(seen, 2);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_TRUE(failures[0].path.ends_with("rank1.json")) << failures[0].path;
  EXPECT_NE(failures[0].why.message().find("is broken"), std::string::npos);
}

TEST_F(PacksTest, CapturesHaveStoresOfTheirOwn) {
  importers::testing::CaptureBuilder capture;
  capture.Metadata("rank", "0");
  importers::testing::MakeTrainingCapture(capture, 500, {});
  const std::string span = folder_.File("h_7_20250109081616001_ascend_pt");
  ASSERT_TRUE(capture.Write(span).ok());
  const auto opened = OpenForRows(FindJob({span}), {.notify = kSilent, .complain = {}});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  ASSERT_EQ(opened->files.size(), 1U);
  EXPECT_FALSE(opened->files[0].is_pack);
}

TEST_F(PacksTest, AnotherRunDoesNotDoubleRows) {
  for (int rank = 0; rank < 40; ++rank) Write(rank);
  std::filesystem::copy(folder_.File("job"), folder_.File("first"));
  for (int rank = 0; rank < 40; ++rank) Write(rank, "other");
  const Job job = FindJob({folder_.File("first"), folder_.File("job")});
  const auto opened = OpenAll(job);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const auto store = Joined(opened->files);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto number = [&](const std::string& sql) {
    const auto result = (*store)->Query(sql);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? result->Int(0, 0) : -1;
  };
  EXPECT_EQ(number("SELECT count(*) FROM slice JOIN track USING (trace, track_id)"), 80);
  EXPECT_EQ(number("SELECT count(*) FROM slice WHERE run = 1 AND name = 'other'"), 40);
  EXPECT_EQ(number("SELECT count(DISTINCT run) FROM trace WHERE rank = 7"), 2);
}

TEST_F(PacksTest, UnreadableTracesAreReportedAtEachOpening) {
  for (int rank = 0; rank < 40; ++rank) Write(rank);
  Job job = FindAll();
  importers::Importer broken = *job.traces[3].source.importer;
  const auto works = broken.import;
  broken.import = &Fail;
  for (const size_t rank : {3U, 5U}) job.traces[rank].source.importer = &broken;
  const auto open = [&] {
    wrong_.clear();
    const auto opened = OpenAll(job);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_FALSE(opened->is_whole);
    ASSERT_EQ(wrong_.size(), 1U);
    EXPECT_NE(wrong_[0].find("rank3.json' is broken (the same of"), std::string::npos) << wrong_[0];
    const auto store = Joined(opened->files);
    ASSERT_TRUE(store.ok());
    EXPECT_EQ((*store)->Query("SELECT count(*) FROM slice WHERE rank NOT IN (3, 5)")->Int(0, 0),
              38);
  };
  open();
  broken.import = works;  // it is not asked
  open();
}

TEST_F(PacksTest, FailuresThatMayPassAreRetried) {
  for (int rank = 0; rank < 40; ++rank) Write(rank);
  Job job = FindAll();
  importers::Importer broken = *job.traces[4].source.importer;
  const auto works = broken.import;
  broken.import = &Fail;
  job.traces[4].source.importer = &broken;
  const auto first = OpenAll(job);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->is_whole);
  broken.import = works;
  const auto second = OpenAll(job);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->is_whole);
}

TEST_F(PacksTest, AreMadeOnceAndAgainWhenATraceChanges) {
  for (int rank = 0; rank < 40; ++rank) Write(rank);
  const auto cached = [&] {
    return base::ListDirectory(folder_.File("cache/sonde/stores"))->size();
  };
  ASSERT_TRUE(OpenAll(FindAll()).ok());
  EXPECT_EQ(cached(), 1U);
  ASSERT_TRUE(OpenAll(FindAll()).ok());
  EXPECT_EQ(cached(), 1U);
  Write(5, "changed");
  const auto opened = OpenAll(FindAll());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(cached(), 2U);
  const auto store = Joined(opened->files);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->Query("SELECT rank FROM slice WHERE name = 'changed'")->Int(0, 0), 5);
}

}  // namespace
}  // namespace sonde::job

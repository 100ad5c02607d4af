// Functions over the rows of many traces: each once, in order, within bounds, failures by name.
#include "job/for_each_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "job/kept_rows.h"
#include "recipes/op_statistic/op_statistic.h"

namespace sonde::job {
namespace {

using base::Concat;

constexpr recipes::Needs kTasks = recipes::Reads<store::DeviceTaskRow>();

class ForEachTraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("XDG_CACHE_HOME", folder_.File("cache").c_str(), 1), 0);
    std::filesystem::create_directories(folder_.File("job"));
  }

  // One operator, and a kernel of rank + 1 us.
  void Write(int rank) const {
    std::ofstream(folder_.File(Concat("job/rank", std::to_string(rank), ".json")))
        << R"({"distributedInfo": {"rank": )" << rank << R"(}, "traceEvents": [)"
        << R"({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 90, "dur": 5},)"
        << R"({"ph": "X", "cat": "kernel", "name": "mm", "pid": 0, "tid": 7, "ts": 100, "dur": )"
        << rank + 1 << "}]}";
  }
  // Above what counts as small, so that it has a store of its own.
  void WriteLarge(int rank) const {
    std::ofstream file(folder_.File(Concat("job/rank", std::to_string(rank), ".json")));
    file << R"({"distributedInfo": {"rank": )" << rank << R"(}, "traceEvents": [)";
    for (int i = 0; i < 30'000; ++i) {
      file << (i == 0 ? "" : ",\n")
           << R"({"ph": "X", "cat": "kernel", "name": "mm", "pid": 0, "tid": 7, "ts": )" << i
           << R"(, "dur": 1})";
    }
    file << "]}";
  }
  void WriteAll(int ranks) const {
    for (int rank = 0; rank < ranks; ++rank) Write(rank);
  }
  JobFiles Files() const {
    auto opened = OpenFiles(FindJob({folder_.File("job")}), Quiet());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return *std::move(opened);
  }
  static OpenOptions Quiet() {
    return {.threads = 2, .notify = [](auto) {}, .complain = [](auto) {}};
  }

  base::TestFolder folder_;
};

int64_t BusyNs(const TraceInHand& trace) {
  int64_t sum = 0;
  for (const store::DeviceTaskRow& task : trace.data.tasks) sum += task.dur;
  return sum;
}

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST_F(ForEachTraceTest, AThousandTracesAreEachSeenOnceInOrder) {
  constexpr int kRanks = 1000;
  WriteAll(kRanks);
  const JobFiles files = Files();
  const size_t open_before = OpenDescriptors();
  std::atomic<size_t> most_open = 0;
  std::atomic<int> slices = 0;
  const auto busy = ForEachTrace<int64_t>(
      files.files, kTasks, {.threads = 4}, [&](const TraceInHand& trace) -> Result<int64_t> {
        const size_t open = OpenDescriptors();
        size_t most = most_open;
        while (open > most && !most_open.compare_exchange_weak(most, open)) {
        }
        slices += static_cast<int>(trace.data.slices.size());
        return BusyNs(trace);
      });
  EXPECT_TRUE(busy.failures.empty());
  ASSERT_EQ(busy.traces.size(), static_cast<size_t>(kRanks));
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto& entry = busy.traces[static_cast<size_t>(rank)];
    EXPECT_EQ(entry.label.trace, rank);
    EXPECT_EQ(entry.label.rank, rank);
    EXPECT_EQ(entry.value, (rank + 1) * 1000);
  }
  EXPECT_EQ(slices, 0);  // was not asked for
  EXPECT_LE(most_open, open_before + 4 * 4);
}

TEST_F(ForEachTraceTest, FailuresAreNamedAndTheOthersGoOn) {
  WriteAll(70);
  const JobFiles files = Files();
  const auto busy = ForEachTrace<int64_t>(files.files, kTasks, {.threads = 2},
                                          [&](const TraceInHand& trace) -> Result<int64_t> {
                                            if (trace.label.rank % 30 == 7)
                                              return base::CorruptDataError("no tasks");
                                            return BusyNs(trace);
                                          });
  EXPECT_EQ(busy.traces.size(), 67U);
  ASSERT_EQ(busy.failures.size(), 3U);
  for (const int i : {0, 1, 2}) {
    EXPECT_TRUE(busy.failures[static_cast<size_t>(i)].path.ends_with(
        Concat("rank", std::to_string(30 * i + 7), ".json")));
  }
}

TEST_F(ForEachTraceTest, AFileThatIsGoneFailsItsTracesAlone) {
  WriteAll(40);
  WriteLarge(40);
  WriteLarge(41);
  const JobFiles files = Files();
  ASSERT_EQ(files.files.size(), 3U);
  const auto lost = std::find_if(files.files.begin(), files.files.end(),
                                 [](const auto& file) { return file.traces.front().rank == 40; });
  ASSERT_NE(lost, files.files.end());
  std::filesystem::remove(lost->path);
  const auto busy = ForEachTrace<int64_t>(
      files.files, kTasks, {.threads = 2},
      [&](const TraceInHand& trace) -> Result<int64_t> { return BusyNs(trace); });
  EXPECT_EQ(busy.traces.size(), 41U);
  ASSERT_EQ(busy.failures.size(), 1U);
  EXPECT_TRUE(busy.failures[0].path.ends_with("rank40.json"));
}

TEST_F(ForEachTraceTest, ATraceBeyondTheBoundIsReadByItself) {
  for (int rank = 0; rank < 4; ++rank) WriteLarge(rank);
  const JobFiles files = Files();
  const uint64_t bytes = base::FileSize(files.files[0].path).value_or(0);
  ASSERT_GT(bytes, 0U);
  const auto most_in_hand = [&](uint64_t bound) {
    std::atomic<int> in_hand = 0;
    std::atomic<int> most = 0;
    std::atomic<int> alone = 0;
    const auto seen =
        ForEachTrace<int>(files.files, kTasks, {.threads = 2, .bytes_at_a_time = bound},
                          [&](const TraceInHand& trace) -> Result<int> {
                            const int now = ++in_hand;
                            if (now > most) most = now;
                            if (trace.is_alone) ++alone;
                            --in_hand;
                            return trace.threads;
                          });
    EXPECT_EQ(seen.traces.size(), 4U);
    for (const auto& entry : seen.traces) EXPECT_EQ(entry.value, alone == 4 ? 2 : 1);
    EXPECT_LE(most, alone == 4 ? 1 : 2);
    return alone.load();
  };
  EXPECT_EQ(most_in_hand(2 * bytes - 1), 4);
  EXPECT_EQ(most_in_hand(3 * bytes), 0);
}

// Else results that are forwarded in order would wait in memory for half of the traces.
TEST_F(ForEachTraceTest, TracesAreBegunInOrder) {
  WriteAll(24);  // each with a store of its own
  const JobFiles files = Files();
  ASSERT_EQ(files.files.size(), 24U);
  std::atomic<size_t> begun = 0;
  const auto failures = RunOverTraces(files.files, kTasks, {.threads = 2},
                                      [&](const TraceInHand&, size_t place) -> Status {
                                        EXPECT_LE(place, begun++ + 1);
                                        return {};
                                      });
  EXPECT_TRUE(failures.empty());
  EXPECT_EQ(begun, 24U);
}

TEST_F(ForEachTraceTest, NoTraceIsBegunAfterCancelling) {
  WriteAll(40);
  const JobFiles files = Files();
  std::atomic<int> begun = 0;
  const auto busy = ForEachTrace<int>(files.files, kTasks,
                                      {.threads = 1, .is_cancelled = [&] { return begun == 5; }},
                                      [&](const TraceInHand&) -> Result<int> { return ++begun; });
  EXPECT_EQ(busy.traces.size(), 5U);
  ASSERT_EQ(busy.failures.size(), 35U);
  EXPECT_EQ(busy.failures[0].why.code(), base::StatusCode::kCancelled);
}

TEST_F(ForEachTraceTest, EarlierPlacesAreDoneWhenReported) {
  WriteAll(130);  // three packs
  const JobFiles files = Files();
  std::vector<std::atomic<bool>> done(130);
  size_t reported = 0;
  const auto failures = RunOverTraces(files.files, kTasks,
                                      {.threads = 2,
                                       .when_done =
                                           [&](size_t places) {
                                             EXPECT_GE(places, reported);
                                             for (; reported < places; ++reported) {
                                               EXPECT_TRUE(done[reported]);
                                             }
                                           }},
                                      [&](const TraceInHand&, size_t place) -> Status {
                                        done[place] = true;
                                        return {};
                                      });
  EXPECT_TRUE(failures.empty());
  EXPECT_EQ(reported, 130U);
}

TEST_F(ForEachTraceTest, RowsOfResultsOutliveTheirTrace) {
  WriteAll(40);
  using Rows = KeptRows<recipes::OpStatisticRow>;
  const auto each = ForEachTrace<Rows>(
      FindJob({folder_.File("job")}), kTasks, Quiet(), {.threads = 2},
      [](const TraceInHand& trace) -> Result<Rows> {
        Rows rows;
        const auto view = recipes::DeviceView::Make(trace.data, /*with_times=*/false);
        for (const auto& row : recipes::OpStatistic(view)) rows.Add(row);
        return rows;
      });
  ASSERT_TRUE(each.ok()) << each.status().message();
  ASSERT_EQ(each->traces.size(), 40U);
  for (const auto& entry : each->traces) {
    ASSERT_EQ(entry.value.rows().size(), 1U);
    EXPECT_EQ(entry.value.rows()[0].op_type, "mm");
    EXPECT_EQ(entry.value.rows()[0].total_ns, (entry.label.rank + 1) * 1000);
  }
}

}  // namespace
}  // namespace sonde::job

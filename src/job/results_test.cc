// Results over the traces of a job: the same from packs and stores, made once, and by SQL.
#include "job/results.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "recipes/registry.h"

namespace sonde::job {
namespace {

class JobResultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("XDG_CACHE_HOME", folder_.File("cache").c_str(), 1), 0);
  }

  // Kernels of two types; those of rank r take r and 10 us.
  void Write(int rank) const {
    std::filesystem::create_directories(folder_.File("job"));
    std::ofstream(folder_.File(base::Concat("job/rank", std::to_string(rank), ".json")))
        << R"({"distributedInfo": {"rank": )" << rank << R"(}, "traceEvents": [)"
        << R"({"ph": "X", "cat": "kernel", "name": "mm", "pid": 0, "tid": 7, "ts": 100, "dur": )"
        << rank << R"(},)"
        << R"({"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 900, "dur": 10})"
        << "]}";
  }
  std::unique_ptr<store::JointStore> Opened() {
    auto opened = Open(FindJob({folder_.File("job")}),
                       {.threads = 2, .notify = [](auto) {}, .complain = [](auto) {}});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_TRUE(
        opened->store->Offer(MakeResults(opened->files, opened->columns, 2, [](auto) {})).ok());
    return std::move(opened->store);
  }
  size_t Made() const {
    const auto entries = base::ListDirectory(folder_.File("cache/sonde/stores"));
    size_t count = 0;
    for (const auto& entry : *entries) count += entry.name.starts_with("result-") ? 1 : 0;
    return count;
  }

  base::TestFolder folder_;
};

constexpr const char* kSums =
    "SELECT rank, op_type, sum(total_ns)::BIGINT FROM op_statistic GROUP BY ALL ORDER BY ALL";

TEST_F(JobResultsTest, AreTheSameOfFewTracesAndOfMany) {
  for (const int count : {3, 40}) {
    for (int rank = 0; rank < count; ++rank) Write(rank + 1);
    const auto store = Opened();
    const auto sums = store->Query(kSums);
    ASSERT_TRUE(sums.ok()) << sums.status().message();
    ASSERT_EQ(sums->rows(), static_cast<size_t>(2 * count));
    for (size_t row = 0; row < sums->rows(); ++row) {
      const auto rank = static_cast<int64_t>(row / 2) + 1;
      EXPECT_EQ(sums->Int(0, row), rank);
      EXPECT_EQ(sums->Int(2, row), row % 2 == 0 ? 10'000 : rank * 1000) << sums->Text(1, row);
    }
    const auto joined = store->Query(
        "SELECT count(*) FROM op_statistic JOIN trace USING (trace) WHERE trace.rank = trace + 1");
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    EXPECT_EQ(joined->Int(0, 0), 2 * count);
  }
}

TEST_F(JobResultsTest, AreMadeOnce) {
  for (int rank = 0; rank < 3; ++rank) Write(rank + 1);
  for (int opening = 0; opening < 2; ++opening) {
    const auto store = Opened();
    for (int question = 0; question < 2; ++question) {
      EXPECT_EQ(store->Query(kSums)->rows(), 6U);
      EXPECT_EQ(Made(), 1U);
    }
  }
  Write(3);
  std::ofstream(folder_.File("job/rank3.json"), std::ios::app) << "\n";
  EXPECT_EQ(Opened()->Query(kSums)->rows(), 6U);
  EXPECT_EQ(Made(), 2U);
}

// A kernel of 100 us, and a collective that ends when the slowest rank is there.
TEST_F(JobResultsTest, TheSlowRankIsARowOfFindings) {
  for (const int count : {3, 40}) {
    for (int rank = 0; rank < count; ++rank) {
      const int computing = rank == 2 ? 160 : 100;
      std::filesystem::create_directories(folder_.File("job"));
      std::ofstream(folder_.File(base::Concat("job/rank", std::to_string(rank), ".json")))
          << R"({"distributedInfo": {"rank": )" << rank << R"(}, "traceEvents": [)"
          << R"({"ph": "X", "cat": "kernel", "name": "mm", "pid": 0, "tid": 7, "ts": 100, "dur": )"
          << computing << R"(}, {"ph": "X", "cat": "kernel", "pid": 0, "tid": 8, "ts": )"
          << 100 + computing << R"(, "dur": )" << 165 - computing
          << R"(, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}]})";
    }
    const auto slow = Opened()->Query(
        "SELECT trace, run, rank, value, message FROM finding WHERE rule = 'slow_rank'");
    ASSERT_TRUE(slow.ok()) << slow.status().message();
    ASSERT_EQ(slow->rows(), 1U) << count;
    EXPECT_EQ(slow->Int(0, 0), 2);
    EXPECT_EQ(slow->Int(1, 0), 0);
    EXPECT_EQ(slow->Int(2, 0), 2);
    EXPECT_NEAR(slow->Double(3, 0), 60, 1e-9);
    EXPECT_TRUE(slow->Text(4, 0).starts_with("rank 2 is slow")) << slow->Text(4, 0);
  }
}

TEST_F(JobResultsTest, EveryRecipeCanBeAsked) {
  for (int rank = 0; rank < 34; ++rank) Write(rank + 1);
  const auto store = Opened();
  for (const recipes::Recipe* recipe : recipes::Recipes()) {
    const auto rows = store->Query(base::Concat("SELECT * FROM ", recipe->result->name));
    ASSERT_TRUE(rows.ok()) << recipe->result->name << ": " << rows.status().message();
    for (const char* column : {"trace", "run", "rank"}) {
      EXPECT_GE(rows->FindColumn(column), 0) << recipe->result->name;
    }
  }
}

}  // namespace
}  // namespace sonde::job

// Small hand-made stores, and the results of the recipes for them.
#include <gtest/gtest.h>

#include <tuple>

#include "base/test_folder.h"
#include "recipes/communication_matrix/communication_matrix.h"
#include "recipes/kernel_details/kernel_details.h"
#include "recipes/memory_summary/memory_summary.h"
#include "recipes/registry.h"
#include "recipes/trace/op_order.h"
#include "store/result_sinks.h"
#include "store/table_writer.h"

namespace sonde::recipes {
namespace {

using store::Store;
using store::TableWriter;

constexpr int32_t kThread = 0;
constexpr int32_t kModuleKind = 1;
constexpr int32_t kStream = 2;
constexpr int32_t kCpu = 3;
constexpr int32_t kAdd = 4;
constexpr int32_t kLinear = 5;
constexpr int32_t kModule = 6;

template <class Row>
void Write(store::Transaction& transaction, const std::vector<Row>& rows) {
  auto writer = TableWriter<Row>::Open(transaction);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (const Row& row : rows) writer->Append(row);
  ASSERT_TRUE(writer->Close().ok());
}

class Recipe : public ::testing::Test {
 protected:
  // linear [0, 100] around add [10, 40] and add [50, 90]; a second thread with add [20, 70].
  void SetUp() override {
    auto made = Store::Create(folder_.File("t.duckdb"));
    ASSERT_TRUE(made.ok()) << made.status().message();
    store_ = std::move(made).value();
    auto transaction = store_->Begin();
    ASSERT_TRUE(transaction.ok());
    WriteThreads(*transaction);
    WriteSlices(*transaction);
    WriteDeviceAndMemory(*transaction);
    ASSERT_TRUE(transaction->Commit().ok());
    ASSERT_TRUE(store_->Publish().ok());
  }

  static void WriteThreads(store::Transaction& transaction) {
    Write<store::NameRow>(transaction, {{kThread, "thread"},
                                        {kModuleKind, "module"},
                                        {kStream, "stream"},
                                        {kCpu, "CPU"},
                                        {kAdd, "aten::add"},
                                        {kLinear, "aten::linear"},
                                        {kModule, "fc"}});
    Write<store::ProcessRow>(transaction, {{.process_id = 0, .pid = 77}});
    Write<store::ThreadRow>(transaction, {{.thread_id = 0, .tid = 77, .process_id = 0},
                                          {.thread_id = 1, .tid = 78, .process_id = 0}});
    Write<store::TrackRow>(
        transaction,
        {{.track_id = 0, .kind = kThread, .process_id = 0, .thread_id = 0},
         {.track_id = 1, .kind = kThread, .process_id = 0, .thread_id = 1},
         {.track_id = 2, .kind = kModuleKind, .process_id = 0, .thread_id = 0},
         {.track_id = 3, .kind = kStream, .process_id = 0, .thread_id = 0, .stream_id = 0}});
  }

  static void WriteSlices(store::Transaction& transaction) {
    Write<store::SliceRow>(transaction,
                           {{.slice_id = 0, .ts = 0, .dur = 100, .track_id = 0, .name = kLinear},
                            {.slice_id = 1,
                             .ts = 10,
                             .dur = 30,
                             .track_id = 0,
                             .name = kAdd,
                             .depth = 1,
                             .parent_id = 0},
                            {.slice_id = 2,
                             .ts = 50,
                             .dur = 40,
                             .track_id = 0,
                             .name = kAdd,
                             .depth = 1,
                             .parent_id = 0},
                            {.slice_id = 3, .ts = 20, .dur = 50, .track_id = 1, .name = kAdd},
                            {.slice_id = 4, .ts = 0, .dur = 95, .track_id = 2, .name = kModule}});
    Write<store::FrameworkOpRow>(transaction, {{.slice_id = 0, .scope = 0, .module = kModule},
                                               {.slice_id = 1, .scope = 0, .module = kModule},
                                               {.slice_id = 2, .scope = 0, .module = kModule},
                                               {.slice_id = 3, .scope = 0},
                                               {.slice_id = 4, .scope = 4}});
  }

  static void WriteDeviceAndMemory(store::Transaction& transaction) {
    Write<store::TaskKindRow>(transaction,
                              {{.kind_id = 0, .name = kAdd, .op_type = kAdd, .core = kCpu}});
    const auto task = [](int32_t id, int64_t ts, int64_t dur, int32_t slice) {
      return store::DeviceTaskRow{.task_id = id,
                                  .slice_id = slice,
                                  .track_id = 3,
                                  .ts = ts,
                                  .dur = dur,
                                  .kind_id = 0,
                                  .launch_slice_id = slice};
    };
    Write<store::MemoryEventRow>(
        transaction, {{.ts = 10,
                       .process_id = 0,
                       .size_bytes = 100,
                       .total_allocated = 100,
                       .owner_slice_id = 1},
                      {.ts = 20, .process_id = 0, .size_bytes = 50, .total_allocated = 150},
                      {.ts = 30, .process_id = 0, .size_bytes = -100, .total_allocated = 50}});
    Write<store::MemoryBlockRow>(
        transaction,
        {{.process_id = 0, .size_bytes = 100, .alloc_ts = 10, .free_ts = 30, .owner_slice_id = 1},
         {.process_id = 0, .size_bytes = 50, .alloc_ts = 20}});
    Write<store::DeviceTaskRow>(transaction, {task(0, 10, 30, 1), task(1, 50, 40, 2)});
  }

  store::ResultTable Run(std::string_view name) {
    const recipes::Recipe* recipe = FindRecipe(name);
    EXPECT_NE(recipe, nullptr) << name;
    store::TableSink rows(*recipe->result);
    const Status status = RunRecipe(*recipe, *store_, rows);
    EXPECT_TRUE(status.ok()) << status.message();
    return rows.table();
  }

  base::TestFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(Recipe, OperatorDetailsNestByThread) {
  const store::ResultTable table = Run("operator_details");
  EXPECT_EQ(table.Get<int64_t>(0), (std::vector<int64_t>{0, 1, 3, 2})) << "by start";
  EXPECT_EQ(table.Get<int64_t>(3), (std::vector<int64_t>{30, 30, 50, 40})) << "host self";
  EXPECT_EQ(table.Get<int64_t>(5), (std::vector<int64_t>{0, 30, 0, 40})) << "device self";
  EXPECT_EQ(table.Get<int64_t>(6), (std::vector<int64_t>{70, 30, 0, 40})) << "device total";
}

TEST_F(Recipe, StepTraceAndOverlapWithoutSteps) {
  const store::ResultTable steps = Run("step_trace");
  ASSERT_EQ(steps.rows(), 1U);
  EXPECT_TRUE(steps.IsNull(2, 0));
  EXPECT_EQ(steps.Int(3, 0), 70) << "computing";
  EXPECT_EQ(steps.Int(7, 0), 10) << "free";
  EXPECT_EQ(Run("overlap_analysis").rows(), 4U) << "two computing, one free, all of it idle";
}

TEST_F(Recipe, StatisticsAndModules) {
  const store::ResultTable ops = Run("op_statistic");
  ASSERT_EQ(ops.rows(), 1U);
  EXPECT_EQ(ops.Int(5, 0), 70);
  EXPECT_DOUBLE_EQ(ops.Double(9, 0), 100.0);
  const store::ResultTable api = Run("api_statistic");
  ASSERT_EQ(api.rows(), 1U);
  EXPECT_EQ(api.Text(0, 0), "node");
  EXPECT_EQ(api.Int(4, 0), 35) << "average";
  // Around 0.035 us: 0.005 us squared.
  EXPECT_NEAR(api.Double(7, 0), 2.5e-5, 1e-12);
  const store::ResultTable modules = Run("top_modules");
  ASSERT_EQ(modules.rows(), 1U);
  EXPECT_EQ(modules.Text(0, 0), "fc");
  EXPECT_EQ(modules.Int(4, 0), 70) << "device self";
}

TEST_F(Recipe, KernelDetailsWait) {
  EXPECT_EQ(Run("kernel_details").Get<int64_t>(5), (std::vector<int64_t>{0, 10}));
}

TEST_F(Recipe, MemoryRecordAndSummary) {
  const store::ResultTable record = Run("memory_record");
  EXPECT_EQ(record.Get<int64_t>(2), (std::vector<int64_t>{100, 50, -100}));
  EXPECT_EQ(record.Text(6, 0), "aten::add");
  EXPECT_EQ(record.Text(6, 1), "");
  EXPECT_EQ(record.Text(7, 0), "PTA");
  const store::ResultTable summary = Run("memory_summary");
  ASSERT_EQ(summary.rows(), 1U);
  EXPECT_EQ(summary.Text(1, 0), "CPU");
  EXPECT_EQ(summary.Text(2, 0), "PTA");
  EXPECT_TRUE(summary.IsNull(8, 0) && summary.IsNull(9, 0)) << "reserved and active: unknown";
  // Allocations, releases, their bytes, the peak, when, left.
  for (const auto& [column, value] : std::vector<std::pair<size_t, int64_t>>{
           {3, 2}, {4, 1}, {5, 150}, {6, 100}, {7, 150}, {10, 20}, {11, 1}, {12, 50}}) {
    EXPECT_EQ(summary.Int(column, 0), value) << column;
  }
}

// Components of one device, as memory_record.csv shows them.
TEST(MemorySummary, ComponentsAreKeptApart) {
  const auto event = [](int32_t component, int64_t ts, int64_t size, int64_t allocated,
                        int64_t reserved) {
    return store::MemoryEventRow{.ts = ts,
                                 .process_id = 0,
                                 .device_type = 20,
                                 .size_bytes = size,
                                 .total_allocated = allocated,
                                 .total_reserved = reserved,
                                 .component = component};
  };
  const std::vector<store::MemoryEventRow> events{
      event(2, 5, 0, -1, 9000),    event(0, 10, 100, 100, 400), event(1, 20, 70, 70, 80),
      event(0, 30, -60, 40, 400),  event(1, 40, 10, 80, 80),    event(0, 50, 20, 60, 400),
      event(3, 60, 500, 500, 600),
  };
  const std::vector<store::MemoryBlockRow> blocks{
      {.process_id = 0, .device_type = 20, .size_bytes = 60, .alloc_ts = 10, .component = 0},
      {.process_id = 0, .device_type = 20, .size_bytes = 80, .alloc_ts = 20, .component = 1}};
  TraceData data;
  data.names = {"PTA", "GE", "APP", "WORKSPACE"};
  data.memory_events = events;
  data.memory_blocks = blocks;
  std::vector<std::tuple<std::string_view, int64_t, int64_t, int64_t, int64_t, int64_t>> found;
  for (const MemorySummaryRow& row : MemorySummary(data)) {
    found.emplace_back(row.component, row.allocated_bytes, row.peak_allocated_bytes,
                       row.peak_reserved_bytes, row.peak_ns, row.alive_bytes);
  }
  EXPECT_EQ(found, (decltype(found){{"APP", 0, -1, 9000, -1, 0},
                                    {"GE", 80, 80, 80, 40, 80},
                                    {"PTA", 120, 100, 400, 10, 60},
                                    {"PTA+GE", 200, 170, 480, 20, 140},
                                    {"WORKSPACE", 500, 500, 600, 60, 0}}));
}

TEST_F(Recipe, EveryRecipeOfTheListRuns) {
  for (const recipes::Recipe* recipe : Recipes()) Run(recipe->result->name);
}

TEST(KernelDetails, WaitRule) {
  const std::vector<Interval> rows{{0, 10}, {5, 8}, {20, 30}, {30, 31}};
  EXPECT_EQ(WaitTimesNs(rows), (std::vector<int64_t>{0, 0, 12, 0}));
}

TEST(CommunicationMatrix, Kinds) {
  EXPECT_EQ(MatrixKind("hcom_allReduce__586_0_1"), "allreduce");
  EXPECT_EQ(MatrixKind("hcom_reduceScatter__586_0_1"), "reduce");
  EXPECT_EQ(MatrixKind("hcom_alltoallv__586_0_1"), "alltoall");
  EXPECT_EQ(MatrixKind("hcom_batchSendRecv__128_3_1"), "batchsendrecv");
  EXPECT_EQ(MatrixKind("hcom_barrier__1_0_1"), "hcom_barrier");
}

}  // namespace
}  // namespace sonde::recipes

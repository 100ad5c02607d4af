#include "store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/files.h"
#include "base/strings.h"
#include "store/import_issues.h"
#include "store/name_pool.h"
#include "store/source_tables.h"
#include "store/table_writer.h"

namespace sonde::store {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/sonde_store_test_" + std::to_string(::getpid());
    ASSERT_TRUE(base::MakeDirectories(folder_).ok());
    path_ = folder_ + "/trace.duckdb";
  }
  void TearDown() override { ASSERT_TRUE(base::RemoveTree(folder_).ok()); }

  // A store of `rows` slices, ts = 10 * i, dur = i, name "even" or "odd".
  static void Fill(Store& store, int rows) {
    auto transaction = store.Begin();
    ASSERT_TRUE(transaction.ok()) << transaction.status().message();
    auto writer = TableWriter<SliceRow>::Open(*transaction);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    NamePool names;
    const int32_t even = names.Intern("even");
    const int32_t odd = names.Intern("odd");
    for (int i = 0; i < rows; ++i) {
      writer->Append({.slice_id = i,
                      .ts = int64_t{10} * i,
                      .dur = i,
                      .track_id = 0,
                      .name = i % 2 == 0 ? even : odd,
                      .depth = 0,
                      .parent_id = i % 2 == 0 ? kNone : i - 1});
    }
    ASSERT_TRUE(writer->Close().ok());
    ASSERT_TRUE(names.Write(*transaction).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }

  std::string folder_;
  std::string path_;
};

TEST_F(StoreTest, RowsInMemoryUntilTheFileIsMade) {
  auto created = Store::Create(path_, {.threads = 2, .source_stamp = 7, .rows_in_memory = true});
  ASSERT_TRUE(created.ok()) << created.status().message();
  Fill(**created, 5000);
  const auto rows = (*created)->rows();
  ASSERT_NE(rows, nullptr);
  ASSERT_EQ(rows->Rows<SliceRow>().size(), 5000U);
  EXPECT_EQ(rows->Rows<SliceRow>()[4999].ts, 49990);
  ASSERT_EQ(rows->Rows<NameRow>().size(), 2U);
  EXPECT_EQ(rows->Rows<NameRow>()[1].name, "odd");  // the pool is gone: a copy
  EXPECT_TRUE(base::ListDirectory(folder_).value().empty());
  ASSERT_TRUE((*created)->Publish().ok());
  EXPECT_FALSE((*created)->Begin().ok());
  // As other stores from here on, although it was filled with settings of its own.
  const auto threads = (*created)->Query("SELECT current_setting('threads')::BIGINT");
  ASSERT_TRUE(threads.ok()) << threads.status().message();
  EXPECT_EQ(threads->Int(0, 0), 2);
  EXPECT_FALSE((*created)->Execute("SET GLOBAL threads = 1").ok());
  created->reset();
  const auto store = Store::OpenReadOnly(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->source_stamp(), 7);
  const auto sums = (*store)->Query(
      "SELECT count(*), sum(dur)::BIGINT, count(*) FILTER (name = 'odd') FROM slice");
  ASSERT_TRUE(sums.ok()) << sums.status().message();
  EXPECT_EQ(sums->Int(0, 0), 5000);
  EXPECT_EQ(sums->Int(1, 0), 5000 * 4999 / 2);
  EXPECT_EQ(sums->Int(2, 0), 2500);
  EXPECT_EQ(rows->Rows<SliceRow>().size(), 5000U);  // still there for their holders
}

TEST_F(StoreTest, AStatementRunsOnceWhateverTypesItsColumnsHave) {
  const auto created = Store::Create(path_);
  ASSERT_TRUE(created.ok()) << created.status().message();
  ASSERT_TRUE((*created)->Query("CREATE SEQUENCE turns").ok());
  for (const std::string type :
       {"BIGINT", "DECIMAL(9, 0)", "BIGINT[]", "DECIMAL(9, 0)", "BIGINT"}) {
    const std::string value = type == "BIGINT[]" ? "[nextval('turns')]" : "nextval('turns')";
    const auto turn =
        (*created)->Query(base::Concat("SELECT 1, CAST(", value, " AS ", type, ") AS turn"));
    ASSERT_TRUE(turn.ok()) << turn.status().message();
    EXPECT_EQ(turn->columns()[1].name, "turn");
  }
  const auto turns = (*created)->Query("SELECT nextval('turns')");
  ASSERT_TRUE(turns.ok()) << turns.status().message();
  EXPECT_EQ(turns->Int(0, 0), 6);
}

TEST_F(StoreTest, LiesInAFolderOfAnyName) {
  for (const std::string name : {"a?b", "?", "what? 100%20 #1; 'x' \"y\" & z=1", "a:b", "\xff"}) {
    const std::string folder = folder_ + "/" + name;
    ASSERT_TRUE(base::MakeDirectories(folder).ok());
    const std::string path = folder + "/trace.duckdb";
    auto created = Store::Create(path);
    ASSERT_TRUE(created.ok()) << created.status().message();
    Fill(**created, 5000);
    const Status published = (*created)->Publish();
    ASSERT_TRUE(published.ok()) << name << ": " << published.message();
    created->reset();
    const auto opened = Store::OpenReadOnly(path);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const auto count = (*opened)->Query("SELECT count(*) FROM slice");
    ASSERT_TRUE(count.ok()) << count.status().message();
    EXPECT_EQ(count->Int(0, 0), 5000);
  }
  EXPECT_EQ(base::ListDirectory(folder_)->size(), 5U);  // and nothing else
}

TEST_F(StoreTest, WritesPublishesAndReopens) {
  auto created = Store::Create(path_);
  ASSERT_TRUE(created.ok()) << created.status().message();
  Fill(**created, 5000);
  EXPECT_FALSE(base::PathExists(path_));
  ASSERT_TRUE((*created)->Publish().ok());
  EXPECT_TRUE(base::PathExists(path_));
  EXPECT_FALSE((*created)->Begin().ok());
  // Still readable, and readable after it is closed.
  auto count = (*created)->Query("SELECT count(*) AS n FROM slice");
  ASSERT_TRUE(count.ok()) << count.status().message();
  EXPECT_EQ(count->Int(0, 0), 5000);
  created->reset();
  EXPECT_EQ(base::ListDirectory(folder_)->size(), 2U);  // and its zoom index

  auto opened = Store::OpenReadOnly(path_);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  auto table = (*opened)->Query(
      "SELECT name, sum(dur) AS total, avg(dur) AS mean, count(parent_id) AS parents, "
      "min(category) AS category FROM slice GROUP BY name ORDER BY name");
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table->rows(), 2U);
  EXPECT_EQ(table->Text(0, 1), "odd");
  EXPECT_EQ(table->Int(1, 0), 2499 * 2500);  // sum of even numbers below 5000; HUGEINT in SQL
  EXPECT_DOUBLE_EQ(table->Double(2, 1), 2500.0);
  EXPECT_EQ(table->Int(3, 0), 0);
  EXPECT_EQ(table->Int(3, 1), 2500);
  EXPECT_TRUE(table->IsNull(4, 0));
  EXPECT_EQ((*opened)->Names().value(), (std::vector<std::string>{"even", "odd"}));
}

// Two equal traces, or two programs that read the same one, share a store by its name.
TEST_F(StoreTest, RecreatedWhileOthersOpenIt) {
  const auto make = [&] {
    auto created = Store::Create(path_);
    Fill(**created, 10);
    return (*created)->Publish().ok();
  };
  ASSERT_TRUE(make());
  std::atomic<bool> is_done = false;
  std::thread maker([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(make());
    is_done = true;
  });
  do {
    const auto opened = Store::OpenReadOnly(path_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
  } while (!is_done);
  maker.join();
}

// Whether another process could open the file for reading now: locks of an open file, unlike those
// that a database takes, also count within one process.
bool OthersMayRead(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  const bool may_read = descriptor >= 0 && ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
  ::close(descriptor);
  return may_read;
}

TEST_F(StoreTest, OthersReadItWhileItsMakerHasItOpen) {
  for (const bool rows_in_memory : {false, true}) {
    auto store = Store::Create(path_, {.rows_in_memory = rows_in_memory}).value();
    Fill(*store, 10);
    ASSERT_TRUE(store->Publish().ok());
    EXPECT_EQ(store->Query("SELECT count(*) FROM slice")->Int(0, 0), 10);
    EXPECT_FALSE(store->Execute("DELETE FROM slice_").ok());
    EXPECT_TRUE(OthersMayRead(path_));
  }
}

TEST_F(StoreTest, MemoryIsShortOnlyWhileItIsFilled) {
  auto store = Store::Create(path_, {.filling_memory_bytes = int64_t{16} << 20U}).value();
  // A list cannot leave memory: 40 MB of numbers.
  const char* const large = "SELECT len(list(range)) FROM range(5000000)";
  EXPECT_FALSE(store->Query(large).ok());
  ASSERT_TRUE(store->EndFilling().ok());
  const auto result = store->Query(large);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->Int(0, 0), 5'000'000);
  EXPECT_FALSE(store->Execute("SET GLOBAL memory_limit = '1GB'").ok());
  EXPECT_TRUE(store->Publish().ok());
}

TEST_F(StoreTest, ScanStreamsInOrder) {
  auto store = Store::Create(path_).value();
  Fill(*store, 10'000);
  ASSERT_TRUE(store->Publish().ok());
  int64_t next = 0;
  const Status status = store->Scan("SELECT slice_id, ts FROM slice_", [&](const Chunk& chunk) {
    const auto ids = chunk.Values<int32_t>(0);
    const auto times = chunk.Values<int64_t>(1);
    for (size_t row = 0; row < chunk.rows(); ++row) {
      EXPECT_EQ(ids[row], next);
      EXPECT_EQ(times[row], 10 * next);
      ++next;
    }
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(next, 10'000);
  const Status stopped = store->Scan("SELECT slice_id FROM slice_",
                                     [&](const Chunk&) { return base::CancelledError("enough"); });
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
}

TEST_F(StoreTest, TransactionsOfTwoThreadsStayApart) {
  auto store = Store::Create(path_).value();
  auto first = store->Begin().value();
  auto second = store->Begin().value();
  auto a = TableWriter<CounterRow>::Open(first).value();
  auto b = TableWriter<CounterRow>::Open(second).value();
  for (int i = 0; i < 6000; ++i) {
    a.Append({.ts = i, .track_id = 1, .value = 0.5});
    b.Append({.ts = i, .track_id = 2, .value = 1.5});
  }
  ASSERT_TRUE(a.Close().ok());
  ASSERT_TRUE(b.Close().ok());
  ASSERT_TRUE(first.Commit().ok());
  ASSERT_TRUE(second.Commit().ok());
  const auto order = store->Query(
      "SELECT count(*) FROM (SELECT track_id, lag(track_id) OVER (ORDER BY place) AS before "
      "FROM (SELECT r.track_id AS track_id, rowid AS place FROM counter_packed)) WHERE track_id <> "
      "before");
  ASSERT_TRUE(order.ok()) << order.status().message();
  EXPECT_EQ(order->Int(0, 0), 1);
}

TEST_F(StoreTest, UnpublishedLeavesNothing) {
  {
    auto store = Store::Create(path_).value();
    Fill(*store, 100);
  }
  EXPECT_TRUE(base::ListDirectory(folder_)->empty());
}

TEST_F(StoreTest, UncommittedIsNotStored) {
  auto store = Store::Create(path_).value();
  {
    auto transaction = store->Begin().value();
    auto writer = TableWriter<CounterRow>::Open(transaction).value();
    writer.Append({.ts = 1, .track_id = 1, .value = 2});
    ASSERT_TRUE(writer.Close().ok());
  }
  EXPECT_EQ(store->Query("SELECT count(*) FROM counter")->Int(0, 0), 0);
}

TEST_F(StoreTest, ErrorsNameTheReason) {
  EXPECT_EQ(Store::OpenReadOnly(path_).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(base::WriteFileAtomically(path_, "not a database at all").ok());
  EXPECT_EQ(Store::OpenReadOnly(path_).status().code(), StatusCode::kCorruptData);
  EXPECT_FALSE(Store::Create("/nonexistent/folder/trace.duckdb").ok());
  const std::string other = folder_ + "/other.duckdb";
  auto store = Store::Create(other).value();
  EXPECT_EQ(store->Query("SELEC 1").status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(store->Query("SELECT no_such_column FROM slice").ok());
  EXPECT_FALSE(store->Query("SELECT 9223372036854775807::HUGEINT * 4 AS big").ok());
  EXPECT_FALSE(store->Execute("INSTALL sqlite").ok());
}

// Like a foreign or damaged file.
TEST_F(StoreTest, AStoreWithOtherTablesIsRefused) {
  for (const char* change :
       {"ALTER TABLE communication_group_ DROP COLUMN description",
        "DROP TABLE communication_group_",
        "ALTER TABLE communication_group_ ALTER COLUMN description TYPE VARCHAR",
        "ALTER TABLE communication_group_ RENAME COLUMN description TO renamed",
        "CREATE TABLE more_ (x INTEGER)"}) {
    auto created = Store::Create(path_);
    ASSERT_TRUE(created.ok());
    Fill(**created, 10);
    auto transaction = (*created)->Begin();
    ASSERT_TRUE(transaction.ok());
    const Status changed = transaction->Execute(change);
    ASSERT_TRUE(changed.ok()) << change << changed.message();
    ASSERT_TRUE(transaction->Commit().ok());
    ASSERT_TRUE((*created)->Publish().ok());
    created->reset();
    const auto opened = Store::OpenReadOnly(path_);
    EXPECT_EQ(opened.status().code(), base::StatusCode::kCorruptData) << change;
  }
}

TEST_F(StoreTest, AnAbsentTextIsEmpty) {
  auto created = Store::Create(path_);
  ASSERT_TRUE(created.ok());
  Fill(**created, 10);
  auto transaction = (*created)->Begin();
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE(transaction->Execute("INSERT INTO name_ VALUES (2, NULL)").ok());
  ASSERT_TRUE(transaction->Commit().ok());
  ASSERT_TRUE((*created)->Publish().ok());
  created->reset();
  const auto store = Store::OpenReadOnly(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto names = (*store)->Names();
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(names->back(), "");
}

// Names in the folder of temporary files are always the same: two databases must not share one.
TEST_F(StoreTest, EachDatabaseSpillsIntoAPrivateFolder) {
  {
    auto created = Store::Create(path_);
    ASSERT_TRUE(created.ok());
    Fill(**created, 10);
    ASSERT_TRUE((*created)->Publish().ok());
  }
  std::string folder;
  {
    const auto one = Store::OpenReadOnly(path_);
    const auto two = Store::OpenReadOnly(path_);
    ASSERT_TRUE(one.ok() && two.ok());
    folder = (*one)->temporary_directory();
    EXPECT_NE(folder, (*two)->temporary_directory());
    struct stat info{};
    ASSERT_EQ(::lstat(folder.c_str(), &info), 0);
    EXPECT_TRUE(S_ISDIR(info.st_mode));
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
  }
  EXPECT_FALSE(base::PathExists(folder));
}

TEST_F(StoreTest, ReadsEveryKindOfValue) {
  auto store = Store::Create(path_).value();
  const auto table = store->Query(
      "SELECT 1::TINYINT a, 2::UBIGINT b, 1.5 c, [1, 2] d, DATE '2024-05-06' e, true f, 'x' g, "
      "NULL::INTEGER h, 0.25::FLOAT i, (-3)::HUGEINT j");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->Int(0, 0), 1);
  EXPECT_EQ(table->Int(1, 0), 2);
  EXPECT_EQ(table->Double(2, 0), 1.5);
  EXPECT_EQ(table->Text(3, 0), "[1,2]");
  EXPECT_EQ(table->Text(4, 0), "2024-05-06");
  EXPECT_EQ(table->Int(5, 0), 1);
  EXPECT_EQ(table->Text(6, 0), "x");
  EXPECT_TRUE(table->IsNull(7, 0));
  EXPECT_EQ(table->Double(8, 0), 0.25);
  EXPECT_EQ(table->Int(9, 0), -3);
  EXPECT_EQ(table->FindColumn("g"), 6);
  EXPECT_EQ(table->FindColumn("zz"), -1);
}

TEST_F(StoreTest, ViewsGiveTexts) {
  auto store = Store::Create(path_).value();
  auto transaction = store->Begin().value();
  NamePool names;
  auto kinds = TableWriter<TaskKindRow>::Open(transaction).value();
  kinds.Append({.kind_id = 0, .name = names.Intern("aten::mm"), .core = names.Intern("CPU")});
  ASSERT_TRUE(kinds.Close().ok());
  auto tracks = TableWriter<TrackRow>::Open(transaction).value();
  tracks.Append({.track_id = 4, .kind = names.Intern("stream"), .process_id = 0, .stream_id = 7});
  ASSERT_TRUE(tracks.Close().ok());
  auto tasks = TableWriter<DeviceTaskRow>::Open(transaction).value();
  tasks.Append({.task_id = 0, .slice_id = 3, .track_id = 4, .ts = 5, .dur = 6, .kind_id = 0});
  ASSERT_TRUE(tasks.Close().ok());
  auto args = TableWriter<ArgsDoubleRow>::Open(transaction).value();
  args.Append({.args_id = 1, .key = names.Intern("flops"), .value = 2.5});
  ASSERT_TRUE(args.Close().ok());
  ImportIssues issues;
  constexpr IssueKind kKind{"truncated_chunk", Severity::kWarning, "a file was cut off"};
  issues.Add(kKind, "events", 64);
  issues.Add(kKind, "events", 128);
  ASSERT_TRUE(issues.Write(transaction, names).ok());
  ASSERT_TRUE(names.Write(transaction).ok());
  ASSERT_TRUE(transaction.Commit().ok());

  const auto task = store->Query(
      "SELECT name, core, input_shapes, stream_id, process_id, launch_slice_id FROM device_task");
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_EQ(task->Text(0, 0), "aten::mm");
  EXPECT_EQ(task->Text(1, 0), "CPU");
  EXPECT_TRUE(task->IsNull(2, 0));
  EXPECT_EQ(task->Int(3, 0), 7);
  EXPECT_EQ(task->Int(4, 0), 0);
  EXPECT_TRUE(task->IsNull(5, 0));
  const auto arg = store->Query("SELECT key, value, double_value FROM args");
  EXPECT_EQ(arg->Text(0, 0), "flops");
  EXPECT_EQ(arg->Text(1, 0), "2.5");
  const auto issue = store->Query("SELECT severity, code, count, position FROM import_issue");
  EXPECT_EQ(issue->Text(0, 0), "warning");
  EXPECT_EQ(issue->Int(2, 0), 2);
  EXPECT_EQ(issue->Int(3, 0), 64);
}

TEST_F(StoreTest, SourceTablesComeBackCellByCell) {
  auto store = Store::Create(path_).value();
  auto transaction = store->Begin().value();
  SourceNames names;
  for (const char* file : {"a.db", "b.db"}) {
    auto table = SourceTableWriter::Create(transaction, names,
                                           {.file = file,
                                            .name = "TASK",
                                            .stored = {},
                                            .definition = "CREATE TABLE TASK (...)",
                                            .columns = {{"id", CellType::kInteger},
                                                        {"Id", CellType::kReal},
                                                        {"na\"me", CellType::kText}}})
                     .value();
    for (int64_t i = 0; i < 5000; ++i) {
      table.Int(i);
      i % 3 == 0 ? table.Null() : table.Real(0.1);
      table.Text(std::to_string(i));
      table.EndRow();
    }
    ASSERT_TRUE(table.Close().ok());
  }
  ASSERT_TRUE(transaction.Commit().ok());
  ASSERT_TRUE(store->Publish().ok());
  const auto tables = SourceTables(*store).value();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].stored, "TASK");
  EXPECT_EQ(tables[1].stored, "b.db/TASK");
  EXPECT_EQ(tables[1].columns[2].name, "na\"me");
  EXPECT_EQ(tables[1].row_count, 5000);
  int64_t row = 0;
  const Status status = ScanSourceTable(*store, tables[1], [&](const Chunk& chunk) -> Status {
    for (size_t i = 0; i < chunk.rows(); ++i, ++row) {
      EXPECT_EQ(chunk.Values<int64_t>(0)[i], row);
      EXPECT_EQ(chunk.IsNull(1, i), row % 3 == 0);
      EXPECT_EQ(chunk.Text(2, i), std::to_string(row));
    }
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(row, 5000);
}

}  // namespace
}  // namespace sonde::store

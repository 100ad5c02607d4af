#include "importers/ascend_db/sample.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>

#include "base/files.h"
#include "base/test_folder.h"
#include "importers/ascend_db/ascend_db.h"
#include "store/store.h"

namespace sonde::importers {
namespace {

// 40 000 tasks of 10 us each, each named by a text of its own kind, and a table without numbers.
constexpr const char* kDatabase =
    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO STRING_IDS SELECT value, 'text ' || value FROM generate_series(0, 9);"
    "CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,"
    "globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,streamId INTEGER,taskId INTEGER);"
    "INSERT INTO TASK SELECT 1000 + value * 10000, 6000 + value * 10000, 0, value, value, 1, 1, 2, "
    "value FROM generate_series(0, 39999);"
    "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,"
    "opType INTEGER,taskType INTEGER);"
    "INSERT INTO COMPUTE_TASK_INFO SELECT value % 10, value, 2, 1 FROM generate_series(0, 39999);"
    "CREATE TABLE pairs (a INTEGER PRIMARY KEY, b) WITHOUT ROWID;"
    "INSERT INTO pairs VALUES (1, 2);";

// SQLite's library has no generate_series of its own.
std::string WithSeries(std::string sql) {
  const std::string call = "generate_series(";
  for (size_t at = sql.find(call); at != std::string::npos; at = sql.find(call, at)) {
    const size_t end = sql.find(')', at);
    const std::string last = sql.substr(sql.rfind(' ', end) + 1, end - sql.rfind(' ', end) - 1);
    sql.replace(at, end - at + 1,
                "(WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE "
                "value < " +
                    last + ") SELECT value FROM n)");
  }
  return sql;
}

class DbSample : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(base::MakeDirectories(folder_.File("sample")).ok());
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    const std::string sql = WithSeries(kDatabase);
    ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  struct Imported {
    std::unique_ptr<store::Store> store;
    ImportSummary summary;
  };
  Result<Imported> Import(const std::string& path) {
    Imported imported;
    SONDE_ASSIGN_OR_RETURN(imported.store, store::Store::Create(folder_.File("s.duckdb")));
    SONDE_ASSIGN_OR_RETURN(imported.summary, ImportAscendDb(path, *imported.store, {}));
    SONDE_RETURN_IF_ERROR(imported.store->Publish());
    return imported;
  }

  base::TestFolder folder_;
  const std::string path_ = folder_.File("msprof_1.db");
  const std::string sample_ = folder_.File("sample/msprof_1.db");
};

TEST_F(DbSample, HasPiecesOfTheWholeTimeWithTheirNames) {
  const std::string before = *base::ReadFile(path_);
  const Status status = WriteDbSample(path_, sample_, 1, 4'000);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(*base::ReadFile(path_) == before);
  const auto whole = Import(path_);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto part = Import(sample_);
  ASSERT_TRUE(part.ok()) << part.status().message();
  EXPECT_EQ(whole->summary.slices, 40'000);
  EXPECT_NEAR(static_cast<double>(part->summary.slices), 2'000, 100);
  EXPECT_EQ(part->summary.begin_ns, whole->summary.begin_ns);
  EXPECT_EQ(part->summary.end_ns, whole->summary.end_ns);
  const auto rows = part->store->Query(
      "SELECT count(*), count(name), count(DISTINCT name), count(DISTINCT ts // 40000000) "
      "FROM device_task");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->Int(1, 0), rows->Int(0, 0)) << "each task with its name";
  EXPECT_EQ(rows->Int(2, 0), 10);
  EXPECT_GE(rows->Int(3, 0), 9) << "of ten parts of the time";
}

TEST_F(DbSample, IsNotMadeWhereItSavesNothing) {
  EXPECT_EQ(WriteDbSample(path_, sample_).code(), StatusCode::kNotFound) << "too small";
  EXPECT_EQ(WriteDbSample(path_, sample_, 1).code(), StatusCode::kNotFound) << "few rows";
  ASSERT_TRUE(base::WriteFileAtomically(path_ + "-wal", "log").ok());
  EXPECT_EQ(WriteDbSample(path_, sample_, 1, 10).code(), StatusCode::kNotFound) << "a log";
  ASSERT_TRUE(base::WriteFileAtomically(folder_.File("text.db"), std::string(9'000, 'x')).ok());
  EXPECT_FALSE(WriteDbSample(folder_.File("text.db"), sample_, 1).ok());
}

}  // namespace
}  // namespace sonde::importers

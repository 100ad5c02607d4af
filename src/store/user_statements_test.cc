#include "store/user_statements.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/test_folder.h"
#include "store/name_pool.h"
#include "store/own_tables.h"
#include "store/table_writer.h"

namespace sonde::store {
namespace {

const auto kNoColumns = [](const std::vector<QueryColumn>&) { return Status(); };
const auto kNoRows = [](const Chunk&) { return Status(); };

// Every statement of the database's grammar that does more than read.
std::vector<std::string> WritingStatements(const std::string& store, const std::string& out) {
  return {
      "DETACH r0",
      "ATTACH '" + store + "' AS w",
      "ATTACH '" + out + "' AS n",
      "COPY (SELECT 1) TO '" + store + "' (FORMAT csv, USE_TMP_FILE false)",
      "COPY (SELECT 1) TO '" + out + "'",
      "COPY r0.name_ FROM '" + store + "'",
      "COPY FROM DATABASE r0 TO memory",
      "EXPORT DATABASE '" + out + "'",
      "IMPORT DATABASE '" + out + "'",
      "EXPLAIN ANALYZE COPY (SELECT 1) TO '" + out + "'",
      "/* c */ EXPLAIN /* c */ (ANALYZE, FORMAT json) COPY (SELECT 1) TO '" + out + "'",
      "EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1",
      "EXPLAIN ANALYZE DROP VIEW slice",
      "EXPLAIN ANALYZE WITH x AS (SELECT 1 AS a) INSERT INTO r0.name_ SELECT a, 'x' FROM x",
      "CREATE TABLE t AS SELECT 1",
      "CREATE TEMP TABLE t AS SELECT 1",
      "CREATE VIEW v AS SELECT 1",
      "CREATE OR REPLACE VIEW slice AS SELECT 1",
      "CREATE MACRO m(a) AS a",
      "CREATE TYPE e AS ENUM ('a')",
      "CREATE SEQUENCE s",
      "CREATE SCHEMA s",
      "CREATE INDEX i ON r0.name_(name)",
      "CREATE SECRET s (TYPE http)",
      "DROP VIEW slice",
      "DROP VIEW IF EXISTS nothing",
      "ALTER VIEW slice RENAME TO other",
      "COMMENT ON VIEW slice IS 'x'",
      "INSERT INTO r0.name_ VALUES (99, 'x')",
      "WITH x AS (SELECT 1 AS a) INSERT INTO r0.name_ SELECT a, 'x' FROM x",
      "UPDATE r0.name_ SET name = 'x'",
      "DELETE FROM r0.name_",
      "TRUNCATE r0.name_",
      "MERGE INTO r0.name_ USING (SELECT 1 AS a) AS u ON true WHEN MATCHED THEN DELETE",
      "VACUUM",
      "ANALYZE",
      "CHECKPOINT",
      "FORCE CHECKPOINT r0",
      "CALL force_checkpoint('r0')",
      "SELECT * FROM \"FORCE_checkpoint\" /* ( */ ('r0')",
      "LOAD json",
      "INSTALL json",
      "UPDATE EXTENSIONS",
      "USE r0",
      "SET threads = 3",
      "SET VARIABLE x = 1",
      "RESET threads",
      "PRAGMA threads = 3",
      "PRAGMA enable_verification",
      "PRAGMA copy_database('memory', 'r0')",
      "PRAGMA import_database('" + out + "')",
      "PRAGMA json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
      "BEGIN",
      "COMMIT",
      "PREPARE p AS SELECT 1",
      "EXECUTE p",
      "DEALLOCATE p",
      "CALL enable_logging(storage_path = '" + out + "')",
      "SUMMARIZE FROM enable_logging(storage_path = '" + out + "')",
      "PIVOT (SELECT * FROM enable_logging()) ON a",
      "FROM enable_profiling(format = 'json', save_location = '" + out + "')",
      "SELECT * FROM query('FROM enable_' || 'logging()')",
      "EXPLAIN PIVOT enable_logging() ON a USING sum(a)",
      "EXPLAIN PIVOT slice ON name USING sum(dur); DROP VIEW slice",
      "EXPLAIN PIVOT slice ON name USING sum(dur)); DROP VIEW slice; SELECT (1",
      "EXPLAIN CREATE TABLE t AS PIVOT slice ON name USING sum(dur)",
      "EXPLAIN (ANALYZE) INSERT INTO t PIVOT slice ON name USING sum(dur)",
      "SELECT 1; DROP VIEW slice",
      "SELECT 1); DROP VIEW slice; SELECT (1",
  };
}

class UserStatementsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a.duckdb", "b.duckdb"}) Write(folder_.File(name));
  }

  static void Write(const std::string& path) {
    auto created = Store::Create(path);
    ASSERT_TRUE(created.ok()) << created.status().message();
    auto transaction = (*created)->Begin();
    ASSERT_TRUE(transaction.ok());
    auto writer = TableWriter<SliceRow>::Open(*transaction);
    ASSERT_TRUE(writer.ok());
    NamePool names;
    const int32_t name = names.Intern("name");
    for (int i = 0; i < 10; ++i) {
      writer->Append({.slice_id = i, .ts = i, .dur = 1, .track_id = 0, .name = name, .depth = 0});
    }
    ASSERT_TRUE(writer->Close().ok());
    ASSERT_TRUE(names.Write(*transaction).ok());
    ASSERT_TRUE(transaction->Commit().ok());
    ASSERT_TRUE((*created)->Publish().ok());
  }

  static int64_t Number(const UserStatements& statements, const std::string& sql) {
    int64_t number = -1;
    const Status status = statements.Scan(sql, kNoColumns, [&](const Chunk& chunk) {
      number = chunk.Values<int64_t>(0)[0];
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return number;
  }

  StoreFile File(const std::string& name, int32_t rank) const {
    return {folder_.File(name), {{.trace = rank - 3, .rank = rank, .path = name}}};
  }

  base::TestFolder folder_;
};

TEST_F(UserStatementsTest, SeeOneStoreOrMore) {
  const auto one = UserStatements::Open({File("a.duckdb", 3)}, 1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(Number(**one, "SELECT count(*) FROM slice WHERE name = 'name'"), 10);
  EXPECT_FALSE((*one)->Scan("SELECT rank FROM slice", kNoColumns, kNoRows).ok());
  const auto both = UserStatements::Open({File("a.duckdb", 3), File("b.duckdb", 4)}, 2);
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(Number(**both, "SELECT count(*) FROM slice"), 20);
  EXPECT_EQ(Number(**both, "SELECT max(rank)::BIGINT FROM slice"), 4);
  EXPECT_EQ(Number(**both, "SELECT count(*) FROM slice a JOIN slice b USING (trace, slice_id)"),
            20);
  EXPECT_EQ(Number(**both, "SELECT max(trace)::BIGINT FROM trace WHERE path = 'b.duckdb'"), 1);
  EXPECT_EQ(Number(**both, "SELECT count(*) FROM r1.slice"), 10);
  EXPECT_FALSE(UserStatements::Open({File("none.duckdb", 0)}, 1).ok());
}

// As those of a comparison of values: a view on a table that lies in another schema.
void AddOwnTable(const std::string& path, int64_t rows) {
  auto created = Store::Create(path);
  ASSERT_TRUE(created.ok()) << created.status().message();
  auto transaction = (*created)->Begin();
  ASSERT_TRUE(transaction.ok());
  for (const std::string& sql :
       {std::string("CREATE SCHEMA IF NOT EXISTS source"),
        "CREATE TABLE source.\"a b\" AS SELECT 7 AS rank, range AS value FROM range(" +
            std::to_string(rows) + ")",
        std::string("CREATE VIEW own AS SELECT * FROM source.\"a b\""),
        std::string("CREATE VIEW inner_ AS SELECT 1")}) {
    const Status made = transaction->Execute(sql);
    ASSERT_TRUE(made.ok()) << made.message();
  }
  ASSERT_TRUE(transaction->Commit().ok());
  ASSERT_TRUE((*created)->Publish().ok());
}

TEST_F(UserStatementsTest, SeeTheTablesThatOnlySomeStoresHave) {
  AddOwnTable(folder_.File("c.duckdb"), 3);
  AddOwnTable(folder_.File("d.duckdb"), 4);
  const auto one = UserStatements::Open({File("c.duckdb", 3)}, 1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(Number(**one, "SELECT count(*) FROM own"), 3);
  // All that the store holds is there, as where it is opened by itself.
  EXPECT_EQ(Number(**one, "SELECT count(*) FROM source.\"a b\""), 3);
  EXPECT_EQ(Number(**one, "SELECT count(*) FROM r0.own JOIN trace ON true"), 3);
  const auto all =
      UserStatements::Open({File("a.duckdb", 3), File("c.duckdb", 4), File("d.duckdb", 5)}, 1);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(Number(**all, "SELECT count(*) FROM own"), 7);
  EXPECT_EQ(Number(**all, "SELECT count(*) FROM own WHERE trace = 2 AND rank = 7"), 4);
  EXPECT_EQ(Number(**all, "SELECT count(*) FROM slice"), 10);
  EXPECT_FALSE((*all)->Scan("SELECT * FROM inner_", kNoColumns, kNoRows).ok());
}

TEST_F(UserStatementsTest, NamesOfForeignTablesRunNothing) {
  const std::string name = "x\"\" AS SELECT 1; CREATE TABLE memory.main.planted AS SELECT 1; --";
  auto created = Store::Create(folder_.File("c.duckdb"));
  ASSERT_TRUE(created.ok()) << created.status().message();
  auto transaction = (*created)->Begin();
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE(transaction->Execute("CREATE VIEW \"" + name + "\" AS SELECT 5 AS value").ok());
  ASSERT_TRUE(transaction->Commit().ok() && (*created)->Publish().ok());
  created->reset();
  const auto both = UserStatements::Open({File("a.duckdb", 3), File("c.duckdb", 4)}, 1);
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(Number(**both, "SELECT value::BIGINT FROM \"" + name + "\""), 5);
  EXPECT_FALSE((*both)->Scan("SELECT * FROM planted", kNoColumns, kNoRows).ok());
}

TEST_F(UserStatementsTest, StoresNameTheirOwnTables) {
  AddOwnTable(folder_.File("c.duckdb"), 3);
  const auto own = Store::OpenReadOnly(folder_.File("c.duckdb"));
  const auto plain = Store::OpenReadOnly(folder_.File("a.duckdb"));
  ASSERT_TRUE(own.ok() && plain.ok());
  const auto names = OwnTables(**own);
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(*names, std::vector<std::string>{"own"});
  EXPECT_EQ(OwnTables(**plain)->size(), 0U);
  const auto columns = OwnColumns(**own);
  ASSERT_TRUE(columns.ok() && columns->size() == 2U);
  EXPECT_EQ((*columns)[1].name + " " + (*columns)[1].type, "value BIGINT");
  EXPECT_TRUE(*HasRecords(**plain));
  EXPECT_FALSE(*HasRecords(**own));
}

TEST_F(UserStatementsTest, AreCancelledFromAnotherThread) {
  const auto statements = UserStatements::Open({File("a.duckdb", 0)}, 1);
  ASSERT_TRUE(statements.ok());
  Cancellation cancellation;
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancellation.Cancel();
  });
  const Status ended = (*statements)
                           ->Scan("SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
                                  kNoColumns, kNoRows, &cancellation);
  EXPECT_EQ(ended.code(), StatusCode::kCancelled) << ended.message();
  const Status later = (*statements)->Scan("SELECT 1", kNoColumns, kNoRows, &cancellation);
  EXPECT_EQ(later.code(), StatusCode::kCancelled) << later.message();
  EXPECT_TRUE((*statements)->Scan("SELECT 1", kNoColumns, kNoRows).ok());
}

TEST_F(UserStatementsTest, ReachNoOtherFile) {
  const std::string text = folder_.File("a.csv");
  ASSERT_TRUE(base::WriteFileAtomically(text, "a,b\n1,2\n").ok());
  const auto statements = UserStatements::Open({File("a.duckdb", 0)}, 1);
  ASSERT_TRUE(statements.ok());
  const std::string out = folder_.File("out.csv");
  const std::vector<std::string> refused = {"SELECT * FROM read_csv('" + text + "')",
                                            "SELECT * FROM '" + text + "'",
                                            "SELECT * FROM read_text('/etc/passwd')",
                                            "COPY (SELECT 1) TO '" + out + "'",
                                            "ATTACH '" + folder_.File("new.duckdb") + "' AS n",
                                            "DELETE FROM r0.slice_",
                                            "SET enable_external_access = true",
                                            "INSTALL httpfs"};
  for (const std::string& sql : refused) {
    EXPECT_FALSE((*statements)->Scan(sql, kNoColumns, kNoRows).ok()) << sql;
  }
  EXPECT_FALSE(base::PathExists(out));
  EXPECT_FALSE(base::PathExists(folder_.File("new.duckdb")));
  EXPECT_EQ(Number(**statements, "SELECT count(*) FROM slice"), 10);
}

TEST_F(UserStatementsTest, JointStoresReachOtherFilesOnlyWhereThatIsWanted) {
  const std::string text = folder_.File("a.csv");
  ASSERT_TRUE(base::WriteFileAtomically(text, "a,b\n1,2\n").ok());
  const std::string sql = "SELECT * FROM read_text('" + text + "')";
  const std::string out = folder_.File("out.parquet");
  for (const bool reads_files : {false, true}) {
    const auto joint = JointStore::Open({File("a.duckdb", 3)}, JointStore::Columns::kOwn,
                                        {.reads_files = reads_files});
    ASSERT_TRUE(joint.ok()) << joint.status().message();
    EXPECT_EQ((*joint)->ScanWithColumns(sql, kNoColumns, kNoRows).ok(), reads_files);
    EXPECT_TRUE((*joint)->WriteParquet("FROM slice", out).ok());
    EXPECT_TRUE(base::PathExists(out));
    ASSERT_EQ(::unlink(out.c_str()), 0);
  }
}

TEST_F(UserStatementsTest, JointStoresEndStatementsThatTakeTooLongOrTooMuch) {
  const auto brief = JointStore::Open({File("a.duckdb", 3)}, JointStore::Columns::kOwn,
                                      {.limits = {.max_seconds = 1}});
  ASSERT_TRUE(brief.ok()) << brief.status().message();
  const Status slow = (*brief)->ScanWithColumns(
      "SELECT count(*) FROM range(1000000000) a, range(1000000000) b", kNoColumns, kNoRows);
  EXPECT_EQ(slow.message(),
            "the statement was cancelled after 1 s: --max-seconds N raises the limit");
  const auto small = JointStore::Open({File("a.duckdb", 3)}, JointStore::Columns::kOwn,
                                      {.limits = {.memory_bytes = int64_t{64} << 20}});
  ASSERT_TRUE(small.ok()) << small.status().message();
  // Lists do not go to temporary files.
  const Status large = (*small)->ScanWithColumns("SELECT len(list(range)) FROM range(100000000)",
                                                 kNoColumns, kNoRows);
  EXPECT_EQ(large.code(), base::StatusCode::kResourceExhausted) << large.message();
  for (const auto& store : {&brief, &small}) {
    EXPECT_TRUE((**store)->ScanWithColumns("FROM slice", kNoColumns, kNoRows).ok());
  }
}

// Memory that the database does not count.
TEST_F(UserStatementsTest, AggregatesRespectTheMemoryLimit) {
  const auto joint = JointStore::Open({File("a.duckdb", 3)}, JointStore::Columns::kOwn,
                                      {.limits = {.memory_bytes = int64_t{32} << 20}});
  ASSERT_TRUE(joint.ok()) << joint.status().message();
  const Status median = (*joint)->ScanWithColumns(
      "SELECT median(a.range * 1000003 + b.range) FROM range(8000) a, range(8000) b", kNoColumns,
      kNoRows);
  EXPECT_EQ(median.code(), base::StatusCode::kResourceExhausted) << median.message();
  EXPECT_TRUE((*joint)->ScanWithColumns("FROM slice", kNoColumns, kNoRows).ok());
}

// Of one store and of two: each is refused, and neither the stores nor their folder change.
TEST_F(UserStatementsTest, OnlyRead) {
  const std::string store = folder_.File("a.duckdb");
  const std::string out = folder_.File("out");
  const std::vector<std::string> refused = WritingStatements(store, out);
  const auto bytes = [&] { return base::ReadFile(store).value(); };
  const std::string before = bytes();
  const auto one = UserStatements::Open({File("a.duckdb", 3)}, 1);
  const auto both = UserStatements::Open({File("a.duckdb", 3), File("b.duckdb", 4)}, 1);
  const auto alone = JointStore::Open({File("a.duckdb", 3)}, JointStore::Columns::kOwn);
  const auto ranks =
      JointStore::Open({File("a.duckdb", 3), File("b.duckdb", 4)}, JointStore::Columns::kLeading);
  ASSERT_TRUE(one.ok() && both.ok() && alone.ok() && ranks.ok());
  for (const std::string& sql : refused) {
    EXPECT_FALSE((*one)->Scan(sql, kNoColumns, kNoRows).ok()) << sql;
    EXPECT_FALSE((*both)->Scan(sql, kNoColumns, kNoRows).ok()) << sql;
    EXPECT_FALSE((*one)->WriteParquet(sql).ok()) << sql;
    EXPECT_FALSE((*alone)->ScanWithColumns(sql, kNoColumns, kNoRows).ok()) << sql;
    EXPECT_FALSE((*ranks)->ScanWithColumns(sql, kNoColumns, kNoRows).ok()) << sql;
    EXPECT_FALSE((*ranks)->WriteParquet(sql, folder_.File("out.parquet")).ok()) << sql;
  }
  const Status status = (*one)->Scan("DETACH r0", kNoColumns, kNoRows);
  EXPECT_EQ(status.message(), "statements here only read: DETACH is refused");
  EXPECT_EQ(Number(**both, "SELECT count(*) FROM slice"), 20);
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(base::ListDirectory(folder_.File(""))->size(), 4U);  // the stores, their zoom indexes
}

TEST_F(UserStatementsTest, ReadInEveryWay) {
  const auto one = UserStatements::Open({File("a.duckdb", 3)}, 1);
  const auto alone = Store::OpenReadOnly(folder_.File("a.duckdb"));
  ASSERT_TRUE(one.ok() && alone.ok());
  for (const std::string sql :
       {"SELECT dur * 0.5 FROM slice;\r\n",
        "SELECT [1] -- a comment",
        "; SELECT DATE '2024-01-02';\t",
        "/* a */ SELECT 'x'::BLOB; -- b",
        "FROM slice",
        "VALUES (1)",
        "TABLE slice",
        "(SELECT 1)",
        "WITH a AS (SELECT 1) FROM a",
        "SHOW TABLES",
        "SHOW ALL TABLES",
        "DESCRIBE slice",
        "SUMMARIZE slice",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (ANALYZE, FORMAT json) FROM slice",
        "PRAGMA show_tables_expanded;",
        "PRAGMA table_info('slice')",
        "PRAGMA storage_info(slice_packed)",
        "PRAGMA functions",
        "PRAGMA database_size",
        "PIVOT slice ON name USING sum(dur);",
        "EXPLAIN PIVOT slice ON name USING sum(dur);",
        "EXPLAIN ANALYZE PIVOT slice ON name USING sum(dur)",
        "EXPLAIN (FORMAT json) SELECT * FROM (PIVOT slice ON name USING sum(dur))",
        "PIVOT slice ON name USING sum(dur * 0.5)",
        "FROM (PIVOT slice ON name IN ('name') USING sum(dur))",
        "SELECT 'checkpoint (1)', 'query(' AS \"query\", count(*) FROM slice"}) {
    if (!sql.starts_with("PRAGMA storage_info")) {
      const Status status = (*one)->Scan(sql, kNoColumns, kNoRows);
      EXPECT_TRUE(status.ok()) << sql << ": " << status.message();
    }
    const Status status = (*alone)->ScanWithColumns(sql, kNoColumns, kNoRows);
    EXPECT_TRUE(status.ok()) << sql << ": " << status.message();
  }
  EXPECT_EQ(
      Number(**one, "SELECT name::BIGINT FROM (PIVOT slice ON name USING sum(dur) GROUP BY depth)"),
      10);
}

// PIVOT, `;` and comments pass through, and no file is left when the last user is gone.
TEST_F(UserStatementsTest, WriteParquetAndCleanUp) {
  auto one = UserStatements::Open({File("a.duckdb", 3)}, 1);
  ASSERT_TRUE(one.ok());
  const auto alone = Store::OpenReadOnly(folder_.File("a.duckdb"));
  ASSERT_TRUE(alone.ok());
  const auto path = (*one)->WriteParquet("PIVOT slice ON name USING sum(dur) GROUP BY depth; -- c");
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_EQ((*alone)->Query("SELECT name::BIGINT FROM '" + *path + "'")->Int(0, 0), 10);
  ASSERT_TRUE((*one)->WriteParquet("SELECT 1;\r\n").ok());
  EXPECT_TRUE(base::PathExists(*path));
  one->reset();
  EXPECT_FALSE(base::PathExists(std::string(base::DirName(*path))));
}

}  // namespace
}  // namespace sonde::store

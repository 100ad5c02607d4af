#include "precision/sqlite/tree_builder.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "base/test_folder.h"

namespace sonde::precision::sqlite {
namespace {

class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(db_); }

  // The first column of all rows.
  std::vector<std::string> Column(const std::string& sql) {
    std::vector<std::string> out;
    char* error = nullptr;
    const auto add = [](void* rows, int, char** values, char**) {
      static_cast<std::vector<std::string>*>(rows)->emplace_back(values[0] ? values[0] : "NULL");
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), add, &out, &error), SQLITE_OK) << error;
    return out;
  }
  std::string One(const std::string& sql) {
    const std::vector<std::string> rows = Column(sql);
    return rows.size() == 1 ? rows.front() : "rows: " + std::to_string(rows.size());
  }

 private:
  sqlite3* db_ = nullptr;
};

// A table `t` (k TEXT PRIMARY KEY, n INTEGER, v TEXT) with these many rows, their keys and texts of
// these lengths.
std::string Build(const std::string& path, size_t rows, size_t key_bytes, size_t text_bytes) {
  EXPECT_TRUE(base::RemoveTree(path).ok());  // of the call before
  auto file = PageFile::Create(path);
  EXPECT_TRUE(file.ok());
  TableBuilder table(file->get());
  IndexBuilder index(file->get());
  Record record;
  for (size_t i = 0; i < rows; ++i) {
    std::string key = std::to_string(1'000'000 + i);
    key.resize(std::max(key_bytes, key.size()), 'k');
    record.Clear();
    record.Text(key);
    record.Int(static_cast<int64_t>(i) - 3);
    record.BeginText()->append(text_bytes, static_cast<char>('a' + i % 26));
    record.EndText();
    table.Add(static_cast<int64_t>(i) + 1, record);
    record.Clear();
    record.Text(key);
    record.Int(static_cast<int64_t>(i) + 1);
    index.Add(record);
  }
  const uint32_t table_root = table.Finish();
  const uint32_t index_root = index.Finish();
  const Status status = (*file)->Finish(
      {{"table", "t", "t", table_root, "CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER, v TEXT)"},
       {"index", "sqlite_autoindex_t_1", "t", index_root, ""}});
  EXPECT_TRUE(status.ok()) << status.ToString();
  return path;
}

struct Shape {
  size_t rows;
  size_t key_bytes;
  size_t text_bytes;
};

class TreeBuilderTest : public testing::TestWithParam<Shape> {};

TEST_P(TreeBuilderTest, SqliteFindsTheFileSoundAndEveryRow) {
  const base::TestFolder folder;
  const Shape shape = GetParam();
  Database db(Build(folder.File("t.db"), shape.rows, shape.key_bytes, shape.text_bytes));
  EXPECT_EQ(db.One("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(db.One("SELECT count(*) FROM t"), std::to_string(shape.rows));
  const std::string same =
      "SELECT count(*) FROM t WHERE length(v) = " + std::to_string(shape.text_bytes) +
      " AND n = rowid - 4";
  EXPECT_EQ(db.One(same), std::to_string(shape.rows));
  EXPECT_EQ(db.One("SELECT count(*) FROM t AS a JOIN t AS b INDEXED BY sqlite_autoindex_t_1 "
                   "ON b.k = a.k WHERE a.n = b.n"),
            std::to_string(shape.rows));
}

INSTANTIATE_TEST_SUITE_P(Shapes, TreeBuilderTest,
                         testing::Values(Shape{0, 7, 0}, Shape{1, 7, 10}, Shape{3, 7, 16'300},
                                         Shape{2000, 7, 3}, Shape{30'000, 60, 100},
                                         Shape{2000, 4000, 9000}, Shape{400, 9000, 40'000},
                                         Shape{40, 20, 200'000}, Shape{5, 7, 16'383}));

// Around every size at which an index leaf is full, also as the last entry.
TEST(TreeBuilderTest, IndexesEndWellWhereverTheyEnd) {
  const base::TestFolder folder;
  for (size_t rows = 1; rows < 40; ++rows) {
    Database db(Build(folder.File("t.db"), rows, 3900, 5));
    EXPECT_EQ(db.One("PRAGMA integrity_check"), "ok") << rows;
    EXPECT_EQ(db.One("SELECT count(*) FROM t INDEXED BY sqlite_autoindex_t_1 WHERE k > ''"),
              std::to_string(rows));
  }
}

TEST(TreeBuilderTest, TheFileCanBeChangedAfterwards) {
  const base::TestFolder folder;
  Database db(Build(folder.File("t.db"), 5000, 40, 700));
  db.Column("UPDATE t SET v = v || v, k = 'x' || k WHERE n % 3 = 0");
  db.Column("DELETE FROM t WHERE n % 5 = 0");
  EXPECT_EQ(db.One("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(db.One("SELECT count(*) FROM t"), "4000");
}

TEST(RecordTest, NumbersOfEverySize) {
  const base::TestFolder folder;
  auto file = PageFile::Create(folder.File("n.db"));
  ASSERT_TRUE(file.ok());
  TableBuilder table(file->get());
  const std::vector<int64_t> numbers = {0,         1,          -1,        127,       -128,
                                        128,       -32'768,    40'000,    8388607,   8388608,
                                        -8388609,  2147483647, 1LL << 40, 1LL << 47, -(1LL << 47),
                                        INT64_MAX, INT64_MIN};
  Record record;
  int64_t rowid = 0;
  for (const int64_t number : numbers) {
    record.Clear();
    record.Int(number);
    record.Real(0.5);
    record.Null();
    rowid = rowid * 13 + 1;  // rowids of every length, too
    table.Add(rowid, record);
  }
  const uint32_t root = table.Finish();
  ASSERT_TRUE((*file)->Finish({{"table", "t", "t", root, "CREATE TABLE t (a, b, c)"}}).ok());
  Database db(folder.File("n.db"));
  EXPECT_EQ(db.One("PRAGMA integrity_check"), "ok");
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(std::to_string(number));
  EXPECT_EQ(db.Column("SELECT a FROM t ORDER BY rowid"), texts);
  EXPECT_EQ(db.One("SELECT DISTINCT b FROM t"), "0.5");
  EXPECT_EQ(db.One("SELECT DISTINCT typeof(c) FROM t"), "null");
}

TEST(PageFileTest, AFullDiskIsReported) {
  const base::TestFolder folder;
  auto file = PageFile::Create(folder.File("full.db"));
  ASSERT_TRUE(file.ok());
  // The nearest thing to a full disk that needs no disk: no file may grow.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &none);
  const bool is_written = (*file)->Finish({}).ok();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal_before);
  EXPECT_FALSE(is_written);
}

}  // namespace
}  // namespace sonde::precision::sqlite

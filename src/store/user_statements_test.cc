#include "store/user_statements.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/test_folder.h"
#include "store/name_pool.h"
#include "store/table_writer.h"

namespace sonde::store {
namespace {

const auto kNoColumns = [](const std::vector<QueryColumn>&) { return Status(); };
const auto kNoRows = [](const Chunk&) { return Status(); };

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

  base::TestFolder folder_;
};

TEST_F(UserStatementsTest, SeeOneStoreOrMore) {
  const auto one = UserStatements::Open({{folder_.File("a.duckdb"), 3}}, 1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(Number(**one, "SELECT count(*) FROM slice WHERE name = 'name'"), 10);
  EXPECT_FALSE((*one)->Scan("SELECT rank FROM slice", kNoColumns, kNoRows).ok());
  const auto both =
      UserStatements::Open({{folder_.File("a.duckdb"), 3}, {folder_.File("b.duckdb"), 4}}, 2);
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(Number(**both, "SELECT count(*) FROM slice"), 20);
  EXPECT_EQ(Number(**both, "SELECT max(rank)::BIGINT FROM slice"), 4);
  EXPECT_FALSE(UserStatements::Open({{folder_.File("none.duckdb"), 0}}, 1).ok());
}

TEST_F(UserStatementsTest, AreCancelledFromAnotherThread) {
  const auto statements = UserStatements::Open({{folder_.File("a.duckdb"), 0}}, 1);
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
  const auto statements = UserStatements::Open({{folder_.File("a.duckdb"), 0}}, 1);
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

}  // namespace
}  // namespace sonde::store

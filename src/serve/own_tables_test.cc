// A store without a trace, as that of a comparison of values: the page has something to show, and
// statements see its tables.
#include <gtest/gtest.h>

#include <chrono>

#include "base/files.h"
#include "base/test_folder.h"
#include "serve/handlers.h"
#include "store/store.h"

namespace sonde::serve {
namespace {

class OwnTablesTest : public ::testing::Test {
 protected:
  // "": a store without rows.
  void Write(const std::string& name, const std::string& rows) const {
    const auto made = store::Store::Create(folder_.File(name));
    ASSERT_TRUE(made.ok()) << made.status().message();
    if (!rows.empty()) {
      auto transaction = (*made)->Begin();
      ASSERT_TRUE(transaction.ok());
      const Status written = transaction->Execute(
          "CREATE VIEW precision_md5 AS SELECT * FROM (VALUES " + rows + ") AS rows(rank, cause)");
      ASSERT_TRUE(written.ok()) << written.message();
      ASSERT_TRUE(transaction->Commit().ok());
    }
    ASSERT_TRUE((*made)->Publish().ok());
  }

  void Open() {
    session_ = std::make_unique<Session>("1.2.3", std::vector<std::string>{folder_.path()});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (session_->Describe().loading && std::chrono::steady_clock::now() < deadline) {
      session_->WaitForChange(session_->revision());
    }
    ASSERT_FALSE(session_->Describe().loading);
  }

  std::string Ask(const std::string& method, const std::string& path, const std::string& trace,
                  const std::string& sql) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.parameters = {{"trace", trace}};
    request.body = sql;
    const auto answer = Answer(*session_, request);
    return answer.ok() ? answer->body : std::string(answer.status().message());
  }

  base::TestFolder folder_;
  std::unique_ptr<Session> session_;
};

TEST_F(OwnTablesTest, AComparisonIsNotEmpty) {
  Write("compare_result_1.duckdb", "(0, 'rounding only'), (0, 'changed weight')");
  Write("compare_result_2.duckdb", "");
  Open();
  const SessionMessage session = session_->Describe();
  ASSERT_EQ(session.traces.size(), 2U);
  EXPECT_EQ(session.traces[0].state, "ready") << session.traces[0].message;
  EXPECT_FALSE(session.traces[0].empty);
  EXPECT_EQ(session.traces[0].tables, std::vector<std::string>{"precision_md5"});
  EXPECT_TRUE(session.traces[1].empty);
  // The folder of the user is only read.
  EXPECT_EQ(base::ListDirectory(folder_.path())->size(), 2U);
}

TEST_F(OwnTablesTest, StatementsSeeItsTables) {
  Write("compare_result_1.duckdb", "(0, 'rounding only'), (0, 'changed weight')");
  Write("compare_result_2.duckdb", "(1, 'changed weight')");
  Open();
  const std::string by_cause = "SELECT cause, count(*) FROM precision_md5 GROUP BY 1 ORDER BY 1";
  EXPECT_NE(
      Ask("POST", "/api/sql", "0", by_cause).find(R"([["changed weight",1],["rounding only",1]])"),
      std::string::npos)
      << Ask("POST", "/api/sql", "0", by_cause);
  EXPECT_NE(
      Ask("POST", "/api/sql", "-1", by_cause).find(R"([["changed weight",2],["rounding only",1]])"),
      std::string::npos)
      << Ask("POST", "/api/sql", "-1", by_cause);
  const std::string schema = Ask("GET", "/api/schema", "", "");
  EXPECT_EQ(schema.find(R"({"name":"precision_md5")"), 1U) << schema.substr(0, 200);
  EXPECT_EQ(schema.find("precision_md5", 20), std::string::npos);
}

}  // namespace
}  // namespace sonde::serve

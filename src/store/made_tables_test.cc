// Tables that are made when a statement names them, and results written into a table.
#include "store/made_tables.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/test_folder.h"
#include "store/store.h"
#include "store/user_statements.h"

namespace sonde::store {
namespace {

#define SONDE_COLUMNS_SQUARES(C)                                 \
  C(number, Int, "", KeyOf("number"), "from 0")                  \
  C(square, Double, "", kLess, "its square")                     \
  C(word, Text, "", kLabel, "even or odd")                       \
  C(half, Opt, "", kNeither, "NULL where it is no whole number") \
  C(note, OptText, "", kLabel, "of every tenth")
SONDE_RESULT(SquareRow, kSquares, "squares", SONDE_COLUMNS_SQUARES, "a number with its square")

constexpr int64_t kRows = 5000;  // several chunks

class Squares final : public MadeTables {
 public:
  std::span<const ResultInfo> tables() const override { return {&kSquares, 1}; }
  Status Fill(const ResultInfo& /*table*/, RowSink& rows) const override {
    ++fills;
    if (fails) return base::CorruptDataError("the numbers are broken");
    for (int64_t i = 0; i < kRows; ++i) {
      SquareRow{i, static_cast<double>(i * i), i % 2 == 0 ? "even" : "odd", i % 2 == 0 ? i / 2 : -1,
                i % 10 == 0 ? "tenth" : ""}
          .Write(rows);
    }
    return {};
  }
  mutable int fills = 0;
  bool fails = false;
};

class MadeTablesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Store::Create(folder_.File("t.duckdb"));
    ASSERT_TRUE(made.ok()) << made.status().message();
    ASSERT_TRUE((*made)->Publish().ok());
    made->reset();
    auto opened = Store::OpenReadOnly(folder_.File("t.duckdb"), {.threads = 2});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = std::move(*opened);
    ASSERT_TRUE(store_->Offer(squares_).ok());
  }
  ResultTable Ask(const std::string& sql) {
    auto table = store_->Query(sql);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? std::move(*table) : ResultTable();
  }

  base::TestFolder folder_;
  std::shared_ptr<Squares> squares_ = std::make_shared<Squares>();
  std::unique_ptr<Store> store_;
};

TEST_F(MadeTablesTest, StatementsNameThemLikeOthers) {
  EXPECT_EQ(Ask("SELECT count(*) FROM squares").Int(0, 0), kRows);
  const ResultTable sums =
      Ask("SELECT word, sum(number)::BIGINT AS n, count(half) AS halves, count(note) AS notes "
          "FROM Squares s GROUP BY word ORDER BY word");
  ASSERT_EQ(sums.rows(), 2U);
  EXPECT_EQ(sums.Text(0, 0), "even");
  EXPECT_EQ(sums.Int(1, 0), (kRows / 2 - 1) * (kRows / 2));
  EXPECT_EQ(sums.Int(2, 0), kRows / 2);
  EXPECT_EQ(sums.Int(2, 1), 0) << "-1 is NULL";
  EXPECT_EQ(sums.Int(3, 0), kRows / 10) << "empty is NULL";
  EXPECT_EQ(Ask("SELECT square FROM squares WHERE number = 4999").Double(0, 0), 4999.0 * 4999.0);
  // Joined with itself, in WITH, and with a table of the store.
  EXPECT_EQ(Ask("WITH s AS (SELECT * FROM squares) SELECT count(*) FROM s JOIN squares t "
                "ON s.number = t.square LEFT JOIN slice ON slice_id = s.number")
                .Int(0, 0),
            71)
      << "squares below 5000";
}

TEST_F(MadeTablesTest, ANameOfTheStatementsOwnIsNotTheirs) {
  EXPECT_EQ(Ask("WITH squares AS (SELECT 7 AS n) SELECT n FROM squares").Int(0, 0), 7);
  EXPECT_FALSE(store_->Query("SELECT * FROM cubes").ok());
  EXPECT_EQ(squares_->fills, 0);
}

TEST_F(MadeTablesTest, ColumnsAreKnownWithoutRows) {
  const ResultTable columns = Ask("SELECT column_name, column_type FROM (DESCRIBE squares)");
  ASSERT_EQ(columns.rows(), 5U);
  EXPECT_EQ(columns.Text(0, 1), "square");
  EXPECT_EQ(columns.Text(1, 1), "DOUBLE");
  EXPECT_EQ(columns.Text(1, 3), "BIGINT");
  EXPECT_EQ(columns.Text(1, 4), "VARCHAR");
  EXPECT_EQ(squares_->fills, 0);
}

TEST_F(MadeTablesTest, AFailureIsThatOfTheStatement) {
  squares_->fails = true;
  const auto failed = store_->Query("SELECT * FROM squares");
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find("the numbers are broken"), std::string_view::npos);
}

TEST_F(MadeTablesTest, UsersSeeThemToo) {
  auto user = UserStatements::Open({{folder_.File("t.duckdb"), {{.trace = 0}}}}, 2);
  ASSERT_TRUE(user.ok()) << user.status().message();
  ASSERT_TRUE((*user)->Offer(squares_).ok());
  size_t rows = 0;
  const Status status = (*user)->Scan(
      "SELECT * FROM squares WHERE half IS NULL", [](const auto&) { return Status(); },
      [&](const Chunk& chunk) {
        rows += chunk.rows();
        return Status();
      });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(rows, static_cast<size_t>(kRows / 2));
}

TEST_F(MadeTablesTest, ResultsAreAppendedBehindLeadingColumns) {
  const ResultColumnInfo rank = {"rank", ResultType::kInt, "", KeyOf("rank"), "global rank"};
  auto made = Store::Create(folder_.File("job.duckdb"));
  ASSERT_TRUE(made.ok()) << made.status().message();
  auto transaction = (*made)->Begin();
  ASSERT_TRUE(transaction.ok()) << transaction.status().message();
  ASSERT_TRUE(transaction->Execute(CreateResultSql(kSquares, "all_squares", {&rank, 1})).ok());
  std::vector<ResultColumnInfo> columns = {rank};
  columns.insert(columns.end(), kSquares.columns.begin(), kSquares.columns.end());
  auto appender = ResultAppender::Open(transaction->connection(), "all_squares", columns);
  ASSERT_TRUE(appender.ok()) << appender.status().message();
  for (const int64_t number : {3, 8}) {
    PrefixSink sink(**appender, [&](RowSink& rows) { rows.Int(number); });
    ASSERT_TRUE(squares_->Fill(kSquares, sink).ok());
  }
  ASSERT_TRUE((*appender)->Close().ok());
  ASSERT_TRUE(transaction->Commit().ok());
  const auto sums = (*made)->Query(
      "SELECT rank, count(*), count(half), max(square) FROM all_squares GROUP BY rank ORDER BY 1");
  ASSERT_TRUE(sums.ok()) << sums.status().message();
  ASSERT_EQ(sums->rows(), 2U);
  EXPECT_EQ(sums->Int(0, 1), 8);
  EXPECT_EQ(sums->Int(1, 1), kRows);
  EXPECT_EQ(sums->Int(2, 1), kRows / 2);
}

}  // namespace
}  // namespace sonde::store

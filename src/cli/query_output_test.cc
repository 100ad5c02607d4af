#include "cli/query_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"

namespace sonde::cli {
namespace {

class QueryOutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/sonde_query_test_" + std::to_string(::getpid());
    ASSERT_TRUE(base::MakeDirectories(folder_).ok());
    const std::string path = folder_ + "/trace.duckdb";
    auto made = store::Store::Create(path).value();
    ASSERT_TRUE(made->Publish().ok());
    made.reset();
    store_ = store::JointStore::Open({{path, {{}}}}, store::JointStore::Columns::kOwn).value();
  }
  void TearDown() override {
    store_.reset();
    ASSERT_TRUE(base::RemoveTree(folder_).ok());
  }
  std::string Output(const std::string& sql, QueryFormat format) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* out = ::open_memstream(&text, &size);
    const Status status = WriteQuery(*store_, sql, format, out);
    std::fclose(out);
    std::string result(text, size);
    std::free(text);
    return status.ok() ? result : "error: " + std::string(status.message());
  }
  std::string folder_;
  std::unique_ptr<store::JointStore> store_;
};

TEST_F(QueryOutputTest, Table) {
  EXPECT_EQ(Output("SELECT * FROM (VALUES (1, 'a'), (-200, NULL)) t(number, \"t\xc3\xa4xt\")",
                   QueryFormat::kTable),
            "number  t\xc3\xa4xt\n------  ----\n     1  a\n  -200  NULL\n(2 rows)\n");
  EXPECT_EQ(Output("SELECT 1 AS a WHERE false", QueryFormat::kTable), "a\n-\n(0 rows)\n");
}

TEST_F(QueryOutputTest, CsvQuotesAndNull) {
  EXPECT_EQ(
      Output("SELECT 'x,\"y\"' AS a, NULL AS b, 2.5::DOUBLE AS c, true AS d", QueryFormat::kCsv),
      "a,b,c,d\n\"x,\"\"y\"\"\",,2.5,true\n");
}

TEST_F(QueryOutputTest, JsonKeepsWideIntegersAndTypes) {
  EXPECT_EQ(Output("SELECT 170141183460469231731687303715884105727::HUGEINT AS big, "
                   "(-170141183460469231731687303715884105727)::HUGEINT AS low, "
                   "18446744073709551615::UBIGINT AS u, 'a\"b' AS s, NULL AS n, true AS t, "
                   "'nan'::DOUBLE AS d, [1, 2] AS l, 1.25::DECIMAL(5, 2) AS dec",
                   QueryFormat::kJson),
            "[\n{\"big\":170141183460469231731687303715884105727,"
            "\"low\":-170141183460469231731687303715884105727,\"u\":18446744073709551615,"
            "\"s\":\"a\\\"b\",\"n\":null,\"t\":true,\"d\":null,\"l\":[1,2],\"dec\":1.25}\n"
            "]\n");
  EXPECT_EQ(Output("SELECT 1 AS a WHERE false", QueryFormat::kJson), "[]\n");
}

TEST_F(QueryOutputTest, ListsAndStructsAreJson) {
  const std::string sql =
      "SELECT ['a,b', 'NaN \"\\ -Infinity', NULL] AS l, {'x': [9007199254740993, NULL], "
      "'y': 'nan'::DOUBLE} AS s, MAP {'k': ['-inf'::DOUBLE, 0.5]} AS m, NULL::INTEGER[] AS n";
  EXPECT_EQ(
      Output(sql, QueryFormat::kJson),
      "[\n{\"l\":[\"a,b\",\"NaN \\\"\\\\ -Infinity\",null],"
      "\"s\":{\"x\":[9007199254740993,null],\"y\":null},\"m\":{\"k\":[null,0.5]},\"n\":null}\n]\n");
  EXPECT_EQ(Output("SELECT [1, NULL] AS l, NULL::INTEGER[] AS n", QueryFormat::kCsv),
            "l,n\n\"[1,null]\",\n");
}

TEST_F(QueryOutputTest, LongResultsStream) {
  const std::string text = Output("SELECT i AS a FROM range(10000) t(i)", QueryFormat::kTable);
  EXPECT_TRUE(text.ends_with("9999\n(10000 rows)\n"));
  const std::string json = Output("SELECT i AS a FROM range(10000) t(i)", QueryFormat::kJson);
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 10002);
}

TEST_F(QueryOutputTest, ErrorsAreOneLine) {
  const std::string text = Output("SELECT no_such FROM slice", QueryFormat::kTable);
  EXPECT_TRUE(text.starts_with("error: Binder Error: ")) << text;
  EXPECT_EQ(text.find("LINE"), std::string::npos) << text;
}

}  // namespace
}  // namespace sonde::cli

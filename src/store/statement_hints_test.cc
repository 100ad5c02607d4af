// Messages for statements that name a table or column that does not exist.
#include "store/statement_hints.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/test_folder.h"
#include "store/made_tables.h"
#include "store/store.h"

namespace sonde::store {
namespace {

constexpr ResultColumnInfo kColumns[] = {
    {"module_class", ResultType::kText, "", kLabel, "a class"},
    {"group_name", ResultType::kText, "", kLabel, "a group"},
};
constexpr ResultInfo kTables[] = {
    {"top_modules", "a module", kColumns},
    {"communication", "an operation", kColumns},
    {"op_statistic", "a type", kColumns},
};

class Empty final : public MadeTables {
 public:
  std::span<const ResultInfo> tables() const override { return kTables; }
  Status Fill(const ResultInfo&, RowSink&) const override { return {}; }
};

class StatementHintsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = Store::Create(folder_.File("trace.duckdb"));
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->Publish().ok());
    ASSERT_TRUE(store_->Offer(std::make_shared<Empty>()).ok());
  }
  std::string Error(const std::string& sql) const {
    const Status status = store_->ScanWithColumns(
        sql, [](const auto&) -> Status { return {}; }, [](const Chunk&) -> Status { return {}; });
    return std::string(status.message());
  }

  base::TestFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(StatementHintsTest, TheTableThatWasMeantIsNamed) {
  EXPECT_EQ(Error("SELECT * FROM op_statistics"),
            "Catalog Error: Table with name op_statistics does not exist; did you mean "
            "\"op_statistic\"?");
  EXPECT_EQ(Error("SELECT * FROM Top_Moduls t JOIN slice USING (slice_id)"),
            "Catalog Error: Table with name Top_Moduls does not exist; did you mean "
            "\"top_modules\"?");
  EXPECT_EQ(Error("SELECT * FROM slices"),
            "Catalog Error: Table with name slices does not exist; did you mean \"slice\"?");
  EXPECT_EQ(Error("SELECT * FROM settings"),
            "Catalog Error: Table with name settings does not exist; `sonde query --schema` lists "
            "the tables");
}

TEST_F(StatementHintsTest, ARenamedColumnIsNamed) {
  const std::string module = "the column class of top_modules is called module_class now";
  for (const char* sql :
       {"SELECT class FROM top_modules", "SELECT m.class FROM top_modules m",
        "SELECT \"CLASS\" FROM top_modules", "SELECT 1 FROM Top_Modules WHERE class = 'x'"}) {
    EXPECT_TRUE(Error(sql).ends_with(module)) << Error(sql);
    EXPECT_EQ(Error(sql).find('\n'), std::string::npos);
  }
  const std::string group = "the column group of communication is called group_name now";
  for (const char* sql : {"SELECT group FROM communication", "SELECT \"group\" FROM communication",
                          "SELECT c.\"group\" FROM communication c"}) {
    EXPECT_TRUE(Error(sql).ends_with(group)) << Error(sql);
  }
}

TEST_F(StatementHintsTest, OtherFaultsAreNotBlamedOnIt) {
  for (const char* sql : {"SELECT count(*) FROM communication GROUP BY op_type ORDER",
                          "SELECT FROM top_modules WHERE"}) {
    EXPECT_NE(Error(sql).find("syntax error"), std::string::npos) << Error(sql);
    EXPECT_EQ(Error(sql).find("now"), std::string::npos) << Error(sql);
  }
}

TEST_F(StatementHintsTest, ColumnsOfOtherTablesAreNotNamed) {
  for (const char* sql : {"SELECT class FROM slice", "SELECT class FROM op_statistic",
                          "SELECT name FROM top_modules"}) {
    EXPECT_EQ(Error(sql).find("now"), std::string::npos) << Error(sql);
    EXPECT_NE(Error(sql).find("Candidate bindings"), std::string::npos) << Error(sql);
  }
}

}  // namespace
}  // namespace sonde::store

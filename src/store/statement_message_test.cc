// Messages of the database in one line.
#include "store/statement_message.h"

#include <gtest/gtest.h>

#include <string>

#include "base/test_folder.h"
#include "store/store.h"

namespace sonde::store {
namespace {

struct Case {
  const char* sql;
  const char* begin;
  const char* end;
};

class StatementMessageTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto store = Store::Create(folder_.File("trace.duckdb"));
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->Publish().ok());
  }

  base::TestFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StatementMessageTest, IsOneShortLine) {
  const Status status = store_->ScanWithColumns(
      GetParam().sql, [](const auto&) -> Status { return {}; },
      [](const Chunk&) -> Status { return {}; });
  const std::string message(status.message());
  EXPECT_TRUE(message.starts_with(GetParam().begin)) << message;
  EXPECT_TRUE(message.ends_with(GetParam().end)) << message;
  EXPECT_LT(message.size(), 300U) << message;
  for (const char c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20U) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Statements, StatementMessageTest,
    ::testing::Values(
        Case{"SELECT repeat('ab', 100000)::INTEGER",
             "Conversion Error: Could not convert string 'abab", "' to INT32"},
        Case{"SELECT t::DOUBLE FROM (SELECT 'a' || chr(10) || chr(27) || '[2J' || chr(10) || "
             "chr(10) || 'LINE 1' || repeat('\xe4\xb8\xad', 1000) || 'z' AS t)",
             "Conversion Error: Could not convert string 'a ?[2J  LINE 1", "column t"},
        Case{"SELECT (repeat('it''s ', 1000) || 'x')::DATE",
             "Conversion Error: invalid date field format: \"it's it's ",
             "expected format is (YYYY-MM-DD)"},
        Case{"SELECT class FROM slice", "Binder Error: Referenced column \"class\" not found in",
             "\""}));

// A message as the database makes it for a name that is not quoted.
TEST(StatementMessage, NamesWithoutQuotesAreCutBeforeTheHint) {
  const std::string message =
      "Catalog Error: Table with name " + std::string(5000, 'x') + " does not exist!\nDid you mean";
  const std::string line = internal::StatementMessage(message, "SELECT 1", {});
  EXPECT_EQ(line.size(), 600U);
  EXPECT_TRUE(line.ends_with("does not exist; `sonde query --schema` lists the tables")) << line;
}

TEST(StatementMessage, PathsAreWhole) {
  const std::string message = "IO Error: Could not read enough bytes from file \"/" +
                              std::string(200, 'x') + "/catalog.ducklake\": attempted to read 7";
  EXPECT_EQ(internal::StatementMessage(message, "SELECT 1", {}), message);
}

TEST(StatementMessage, OutOfMemory) {
  EXPECT_EQ(internal::OutOfMemoryMessage("Out of Memory Error: no 16 MiB\nPossible solutions: SET"),
            "no 16 MiB");
  EXPECT_EQ(internal::OutOfMemoryMessage("Binder Error: no"), "");
}

}  // namespace
}  // namespace sonde::store

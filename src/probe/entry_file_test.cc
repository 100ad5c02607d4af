#include "probe/entry_file.h"

#include <gtest/gtest.h>

#include <array>

#include "base/files.h"

namespace sonde::probe {
namespace {

class EntryFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "/sonde_entry_file.json";
    auto file = ObjectFile::Create(path_, {.head = "{", .tail = "\n}", .empty_tail = "}"});
    ASSERT_TRUE(file.ok());
    file_.emplace(*std::move(file), "later ");
  }
  std::string Settled() {
    EXPECT_TRUE(file_->Settle().ok());
    return base::ReadFile(path_).value();
  }

  std::string path_;
  std::optional<EntryFile> file_;
};

TEST_F(EntryFileTest, NothingWaits) {
  file_->SetPart("a", "in", "1", false);
  file_->Finish("a");
  EXPECT_EQ(file_->held(), 0U);
  EXPECT_NE(base::ReadFile(path_).value().find("\"in\": 1"), std::string::npos);
}

TEST_F(EntryFileTest, WaitingEntriesComeInTheirOrder) {
  file_->SetPart("a", "in", R"({"Max": "later 0", "Min": "later 1"})", true);
  file_->SetPart("b", "in", "7", false);
  file_->Finish("b");
  file_->SetValue("c", R"(["later 2", "later 2"])", true);
  file_->SetPart("gone", "in", "8", false);
  file_->Remove("gone");
  file_->SetPart("a", "out", "9", false);
  file_->Finish("a");
  file_->Finish("c");
  EXPECT_EQ(base::ReadFile(path_).value(), "{}");
  const std::array<std::string, 2> first = {"0.5", "NaN"};
  const std::array<std::string, 1> last = {"true"};
  file_->Give(2, last);  // another thread was faster
  EXPECT_EQ(base::ReadFile(path_).value(), "{}");
  file_->Give(0, first);
  EXPECT_EQ(file_->held(), 0U);
  const std::string text = Settled();
  EXPECT_EQ(text.find("later"), std::string::npos);
  EXPECT_NE(text.find(R"({"Max": 0.5, "Min": NaN})"), std::string::npos) << text;
  EXPECT_NE(text.find("[true, true]"), std::string::npos) << text;
  EXPECT_LT(text.find("\"a\""), text.find("\"b\""));
  EXPECT_LT(text.find("\"b\""), text.find("\"c\""));
  EXPECT_EQ(text.find("gone"), std::string::npos);
}

TEST_F(EntryFileTest, NumbersMayComeBeforeTheirText) {
  const std::array<std::string, 2> numbers = {"3", "4"};
  file_->SetValue("a", R"("later 0")", true);
  file_->Finish("a");
  file_->Give(0, numbers);
  EXPECT_EQ(file_->held(), 0U);
  file_->SetValue("b", R"("later 1")", true);
  file_->Finish("b");
  file_->Give(2, {});
  EXPECT_EQ(file_->held(), 0U);
  EXPECT_NE(Settled().find("\"b\": 4"), std::string::npos);
}

TEST_F(EntryFileTest, TextsOfTheProgramAreNoMarks) {
  file_->SetPart("a", "in", R"({"type": "str", "value": "\"later 0"})", false);
  file_->Finish("a");
  EXPECT_NE(Settled().find("later 0"), std::string::npos);
}

}  // namespace
}  // namespace sonde::probe

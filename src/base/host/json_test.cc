#include "base/host/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sonde::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Json, ReportsThePlaceOfAnError) {
  const Status status = JsonDocument::Parse("{\n  \"a\": 1,\n  \"b\": }\n", "c.json").status();
  EXPECT_EQ(status.code(), StatusCode::kCorruptData);
  EXPECT_EQ(status.message(), "c.json: not valid JSON at line 3, column 8");
  EXPECT_EQ(JsonDocument::Parse("", "c").status().message(),
            "c: not valid JSON at line 1, column 1");
  EXPECT_EQ(JsonDocument::ReadFile("/nowhere.json").status().code(), StatusCode::kNotFound);
}

TEST(Json, GettersConvertOrExplain) {
  const JsonDocument document =
      *JsonDocument::Parse(R"({"s":"x","i":3,"d":1.5,"b":true,"n":null})", "t");
  const JsonValue root = document.root();
  EXPECT_EQ(*root.GetString("s", ""), "x");
  EXPECT_EQ(*root.GetString("n", "default"), "default");
  EXPECT_EQ(*root.GetInt("i", 0), 3);
  EXPECT_EQ(*root.GetInt("absent", 7), 7);
  EXPECT_EQ(*root.GetDouble("i", 0), 3.0);
  EXPECT_TRUE(*root.GetBool("b", false));
  EXPECT_EQ(root.GetInt("d", 0).status().message(), "'d': must be a whole number, not number");
  EXPECT_FALSE(root.GetBool("i", false).ok());
  EXPECT_FALSE(root.GetString("i", "").ok());
  const JsonDocument large = *JsonDocument::Parse(R"({"i":18446744073709551615})", "t");
  EXPECT_THAT(large.root().GetInt("i", 0).status().ToString(), HasSubstr("too large"));
}

TEST(Json, WalksArraysAndObjects) {
  const JsonDocument document = *JsonDocument::Parse(R"({"b":[1,[2]],"a":{"k":"v"}})", "t");
  const JsonValue root = document.root();
  EXPECT_EQ(root.Size(), 2U);
  EXPECT_EQ(root["b"].Size(), 2U);
  EXPECT_EQ(*root["b"][0].AsInt(), 1);
  EXPECT_EQ(*root["b"][1][0].AsInt(), 2);
  EXPECT_TRUE(root["b"][9].IsNull());
  EXPECT_TRUE(root["b"]["no"].IsNull());
  EXPECT_TRUE(root["none"]["deeper"].IsNull());
  EXPECT_EQ(*root["a"]["k"].AsString(), "v");
  std::vector<std::string> keys;
  for (const auto& [key, value] : root.Members()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("a", "b"));
  EXPECT_EQ(root["b"].Elements().size(), 2U);
  EXPECT_TRUE(root.Elements().empty());
  EXPECT_TRUE(JsonValue().IsNull());
  EXPECT_EQ(root.Dump(), R"({"a":{"k":"v"},"b":[1,[2]]})");
}

}  // namespace
}  // namespace sonde::base

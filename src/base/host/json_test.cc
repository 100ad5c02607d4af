#include "base/host/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace sonde::base {
namespace {

using ::testing::HasSubstr;

TEST(Json, TellsWhereItIsBroken) {
  const Status status = ParseJson("{\n  \"a\": 1,\n  \"b\": }\n", "c.json").status();
  EXPECT_EQ(status.code(), StatusCode::kCorruptData);
  EXPECT_THAT(std::string(status.message()), HasSubstr("c.json: not valid JSON at line 3"));
  EXPECT_EQ(ParseJson("", "c").status().code(), StatusCode::kCorruptData);
  EXPECT_FALSE(ReadJsonFile("/nowhere.json").ok());
}

TEST(Json, GettersConvertOrExplain) {
  const Json json = *ParseJson(R"({"s":"x","i":3,"d":1.5,"b":true,"n":null})", "t");
  EXPECT_EQ(*GetString(json, "s", ""), "x");
  EXPECT_EQ(*GetString(json, "n", "default"), "default");
  EXPECT_EQ(*GetInt(json, "i", 0), 3);
  EXPECT_EQ(*GetInt(json, "absent", 7), 7);
  EXPECT_EQ(*GetDouble(json, "i", 0), 3.0);
  EXPECT_TRUE(*GetBool(json, "b", false));
  EXPECT_THAT(GetInt(json, "d", 0).status().ToString(),
              HasSubstr("'d' must be a whole number, not number"));
  EXPECT_FALSE(GetBool(json, "i", false).ok());
  EXPECT_FALSE(GetString(Json::array(), "s", "").ok());
  EXPECT_FALSE(GetInt(*ParseJson(R"({"i":18446744073709551615})", "t"), "i", 0).ok());
}

}  // namespace
}  // namespace sonde::base

#include "precision/config/python_value.h"

#include <gtest/gtest.h>

#include "precision/config/verl_log.h"

namespace sonde::precision {
namespace {

PythonValue Parse(std::string_view text) {
  size_t consumed = 0;
  auto value = ParsePythonValue(text, &consumed);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status().message();
  return value.ok() ? *value : PythonValue();
}

TEST(PythonValue, ReprIsThatOfPython) {
  const std::pair<const char*, const char*> cases[] = {
      {"None", "None"},       {"true", "True"},
      {"-3", "-3"},           {"+3", "3"},
      {"1e-6", "1e-06"},      {"0.50", "0.5"},

      {"'a\\'b'", "\"a'b\""}, {"\"x\\n\"", "'x\\n'"},
      {"[]", "[]"},           {"[1, 'a', [2.0]]", "[1, 'a', [2.0]]"},
      {"{}", "{}"},           {"{'a': {1: None}}", "{'a': {'1': None}}"},
      {"('a' 'b')", "'ab'"},  {"(1,)", "[1]"},
      {"(1, 2)", "[1, 2]"},
  };
  for (const auto& [text, repr] : cases) EXPECT_EQ(Parse(text).Repr(), repr) << text;
}

TEST(PythonValue, EqualityIsThatOfPython) {
  EXPECT_TRUE(Parse("1") == Parse("1.0"));
  EXPECT_TRUE(Parse("True") == Parse("1"));
  EXPECT_TRUE(Parse("{'a': 1, 'b': [2]}") == Parse("{'b': [2.0], 'a': True}"));
  EXPECT_FALSE(Parse("'1'") == Parse("1"));
  EXPECT_FALSE(Parse("None") == Parse("0"));
  EXPECT_FALSE(Parse("[1, 2]") == Parse("[1]"));
  EXPECT_FALSE(Parse("12345678901234567890") == Parse("12345678901234567891"));
}

TEST(PythonValue, ErrorsNameTheByte) {
  size_t consumed = 0;
  for (const char* text : {"", "foo", "{'a' 1}", "[1 2]", "{", "'open", "[1,,]", "}"}) {
    const auto value = ParsePythonValue(text, &consumed);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_NE(value.status().message().find("byte"), std::string::npos) << text;
  }
  EXPECT_FALSE(ParsePythonValue(std::string(10'000, '['), &consumed).ok());
}

TEST(PythonValue, TextBehindAValueIsNotRead) {
  size_t consumed = 0;
  EXPECT_TRUE(ParsePythonValue("{'a': 1} and more", &consumed).ok());
  EXPECT_EQ(consumed, 8U);
}

TEST(PythonValue, LinesAreCutBeforeNonValues) {
  EXPECT_EQ(ValuePart(" 'a': 1, INFO now"), " 'a': 1,");
  EXPECT_EQ(ValuePart("INFO now"), "");
  EXPECT_EQ(ValuePart(" 'a': {'b': 'INFO now'},"), " 'a': {'b': 'INFO now'},");
}

TEST(VerlLog, TheLastConfigurationBehindItsMark) {
  const auto config = ParseVerlLog(
      "(A) {'actor_rollout_ref': 1}\n"
      "(B pid=2) {'actor_rollout_ref': {'a': 1,\n"
      "(C) {'x': 3}\n"
      "(B pid=2)   'b': 2}}\n"
      "(B pid=2) done\n");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->Repr(), "{'actor_rollout_ref': {'a': 1, 'b': 2}}");
  EXPECT_EQ(ParseVerlLog("{\"actor_rollout_ref\": {\"a\": null}}")->Repr(),
            "{'actor_rollout_ref': {'a': None}}");
  EXPECT_FALSE(ParseVerlLog("").ok());
  EXPECT_FALSE(ParseVerlLog("{'actor_rollout_ref': {'a'").ok());
}

}  // namespace
}  // namespace sonde::precision

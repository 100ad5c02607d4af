#include "precision/dump/json_scanner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"
#include "precision/dump/value.h"

namespace sonde::precision {
namespace {

// Walks everything and returns the leaves, to see that no text makes it hang or read outside.
void Walk(JsonScanner* json, std::vector<std::string>* leaves) {
  switch (json->Peek()) {
    case JsonScanner::Kind::kObject:
      json->BeginObject();
      for (std::string_view key; json->NextKey(&key);) {
        leaves->emplace_back(key);
        Walk(json, leaves);
      }
      return;
    case JsonScanner::Kind::kArray:
      json->BeginArray();
      while (json->NextElement()) Walk(json, leaves);
      return;
    case JsonScanner::Kind::kString:
      leaves->emplace_back(json->String());
      return;
    case JsonScanner::Kind::kError:
      return;
    default:
      leaves->emplace_back(json->Literal());
  }
}

Status WalkAll(const std::string& text, std::vector<std::string>* leaves) {
  JsonScanner json(text, "x.json");
  Walk(&json, leaves);
  if (!json.failed()) json.ExpectEnd();
  return json.status();
}

TEST(JsonScannerTest, ReadsAllKindsOfValues) {
  std::vector<std::string> leaves;
  ASSERT_TRUE(WalkAll(R"( {"a": [1, -2.5e3, true, false, null, NaN, -Infinity, Infinity],
                          "b": {}, "c": [], "d\n": "x\u00e9\ud83d\ude00\"\\"} )",
                      &leaves)
                  .ok());
  EXPECT_EQ(leaves, (std::vector<std::string>{"a", "1", "-2.5e3", "true", "false", "null", "NaN",
                                              "-Infinity", "Infinity", "b", "c", "d\n",
                                              "x\xc3\xa9\xf0\x9f\x98\x80\"\\"}));
}

TEST(JsonScannerTest, EveryTruncationIsAnErrorOfOneLine) {
  const std::string whole = R"({"a": [1, {"b": "x\"y"}], "c": null})";
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::string> leaves;
    const Status status = WalkAll(whole.substr(0, size), &leaves);
    EXPECT_FALSE(status.ok()) << size;
    EXPECT_EQ(status.message().find('\n'), std::string_view::npos);
    EXPECT_TRUE(status.message().starts_with("x.json: byte ")) << status.message();
  }
}

TEST(JsonScannerTest, RefusesWhatIsNotJson) {
  for (const char* text : {"{\"a\" 1}", "{\"a\": 1,, \"b\": 2}", "[1 2]", "[,]", "{1: 2}", "abc",
                           "[\"\\q\"]", "[\"\\u12\"]", "{} {}", "]"}) {
    std::vector<std::string> leaves;
    EXPECT_FALSE(WalkAll(text, &leaves).ok()) << text;
  }
}

TEST(JsonScannerTest, DepthIsLimited) {
  std::vector<std::string> leaves;
  const std::string deep(10'000, '[');
  const Status status = WalkAll(deep + std::string(10'000, ']'), &leaves);
  EXPECT_NE(status.message().find("nested deeper than 1000 levels"), std::string_view::npos);
}

TEST(JsonScannerTest, SkipReturnsTheRawTextWhateverTheDepth) {
  const std::string deep = std::string(5'000, '[') + "\"]\"" + std::string(5'000, ']');
  const std::string text = "{\"a\": " + deep + " , \"b\": 7}";
  JsonScanner json(text, "x.json");
  json.BeginObject();
  std::string_view key;
  ASSERT_TRUE(json.NextKey(&key));
  EXPECT_EQ(json.SkipValue(), deep);
  ASSERT_TRUE(json.NextKey(&key));
  EXPECT_EQ(json.SkipValue(), "7");
  EXPECT_FALSE(json.NextKey(&key));
  EXPECT_TRUE(json.status().ok());
}

TEST(ValueTest, TextsArePythons) {
  EXPECT_EQ(Value::FromLiteral("1e-05").PythonText(), "1e-05");
  EXPECT_EQ(Value::FromLiteral("10000000000000000.0").PythonText(), "1e+16");
  EXPECT_EQ(Value::FromLiteral("3").PythonText(), "3");
  EXPECT_EQ(Value::FromLiteral("true").PythonText(), "True");
  EXPECT_EQ(Value::FromLiteral("null").PythonText(), "None");
  EXPECT_EQ(Value::FromLiteral("NaN").PythonText(), "nan");
  EXPECT_EQ(Value::FromLiteral("12345678901234567890").PythonText(), "12345678901234567890");
  EXPECT_EQ(PythonTextOfJson(R"([1, null, {"a": "it's", "b": [true]}])"),
            R"([1, None, {'a': "it's", 'b': [True]}])");
}

TEST(ValueTest, EqualityIsThatOfTexts) {
  EXPECT_TRUE(SameText(Value::FromLiteral("NaN"), Value::FromLiteral("NaN")));
  EXPECT_FALSE(SameText(Value::FromLiteral("3"), Value::FromLiteral("3.0")));
  EXPECT_FALSE(SameText(Value::FromLiteral("0.0"), Value::FromLiteral("-0.0")));
  EXPECT_TRUE(SameText(Value(), Value::Null()));
  EXPECT_TRUE(SameText(Value::Text("True"), Value::Bool(true)));
}

// Quotes and backslashes are looked for eight bytes at a time.
TEST(JsonScannerTest, StringsEndAtEveryPlace) {
  for (size_t length = 0; length < 40; ++length) {
    const std::string plain(length, 'x');
    const std::string text =
        base::Concat("[\"", plain, "\", \"", plain, "\\\"", plain, "\\\\\", 1]");
    JsonScanner json(text, "test");
    json.BeginArray();
    ASSERT_TRUE(json.NextElement());
    EXPECT_EQ(json.String(), plain);
    ASSERT_TRUE(json.NextElement());
    EXPECT_EQ(json.String(), base::Concat(plain, "\"", plain, "\\"));
    ASSERT_TRUE(json.NextElement());
    EXPECT_EQ(json.Literal(), "1");
    EXPECT_FALSE(json.NextElement());
    EXPECT_TRUE(json.status().ok());
    for (const std::string& open : {base::Concat("\"", plain), base::Concat("\"", plain, "\\"),
                                    base::Concat("\"", plain, "\\\"")}) {
      JsonScanner broken(open, "test");
      broken.String();
      EXPECT_TRUE(broken.failed()) << open;
    }
  }
}

}  // namespace
}  // namespace sonde::precision

#include "base/host/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/host/json.h"
#include "base/test_folder.h"

namespace sonde::base {
namespace {

void WriteSample(JsonWriter& json) {
  json.BeginObject();
  json.Key("a");
  json.Int(-1);
  json.Key("b");
  json.BeginArray();
  json.Double(0.1);
  json.Double(std::numeric_limits<double>::quiet_NaN());
  json.BeginObject();
  json.EndObject();
  json.BeginArray();
  json.EndArray();
  json.Bool(true);
  json.Null();
  json.EndArray();
  json.Key("ts");
  json.MicrosecondText(123456);
  json.Key("dur");
  json.MicrosecondNumber(5);
  json.Key("raw");
  json.Raw("[1]");
  json.EndObject();
}

TEST(JsonWriter, PlacesCommas) {
  JsonWriter json(nullptr);
  WriteSample(json);
  EXPECT_EQ(json.Take(),
            R"({"a":-1,"b":[0.1,null,{},[],true,null],"ts":"123.456","dur":0.005,"raw":[1]})");
}

TEST(JsonWriter, PythonStyleHasBlanks) {
  JsonWriter json(nullptr, JsonWriter::Style::kPythonDefault);
  WriteSample(json);
  EXPECT_EQ(
      json.Take(),
      R"({"a": -1, "b": [0.1, null, {}, [], true, null], "ts": "123.456", "dur": 0.005, "raw": [1]})");
}

TEST(JsonWriter, EscapesAnyBytes) {
  EXPECT_EQ(JsonQuote("a\"b\\c\n\r\t\b\f"), R"("a\"b\\c\n\r\t\b\f")");
  EXPECT_EQ(JsonQuote(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(JsonQuote("gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80\"");
  EXPECT_EQ(JsonQuote("\xff"
                      "a\xc3"),
            "\"\xef\xbf\xbd"
            "a\xef\xbf\xbd\"");
  EXPECT_EQ(JsonQuote("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(JsonWriter, EveryPairOfBytesParses) {
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      ASSERT_TRUE(JsonDocument::Parse(JsonQuote(text), "pair").ok()) << a << " " << b;
    }
  }
}

TEST(JsonWriter, StreamsIntoAFileLargerThanTheBuffer) {
  const TestFolder folder;
  auto file = AtomicFile::Create(folder.File("big.json"));
  ASSERT_TRUE(file.ok());
  JsonWriter json(&*file);
  json.BeginArray();
  for (int i = 0; i < 300000; ++i) json.Int(i);
  json.String(std::string(3'000'000, 'x'));
  json.EndArray();
  ASSERT_TRUE(json.Finish().ok());
  ASSERT_TRUE(file->Commit().ok());
  const auto parsed = JsonDocument::ReadFile(folder.File("big.json"));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->root().Size(), 300001U);
  EXPECT_EQ(*parsed->root()[299999].AsInt(), 299999);
}

TEST(JsonWriterDeathTest, UnbalancedCallsAreBugs) {
  EXPECT_DEATH(
      {
        JsonWriter json(nullptr);
        json.BeginArray();
        json.EndObject();
      },
      "wrong bracket");
  EXPECT_DEATH(
      {
        JsonWriter json(nullptr);
        json.BeginArray();
        json.Take();
      },
      "inside a bracket");
}

}  // namespace
}  // namespace sonde::base

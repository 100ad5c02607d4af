#include "importers/trace_events/reader.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/trace_events/json_text.h"

namespace sonde::importers::trace_events {
namespace {

using base::Concat;

// Keeps the events, with texts of its own.
struct Kept : EventSink {
  struct Event {
    char phase;
    int64_t ts;
    int64_t dur;
    std::string name;
    std::string id;
    std::string args;
    uint64_t position;
  };
  std::vector<Event> events;
  std::vector<std::string> metadata;

  Status TakeEvents(std::span<const TraceEvent> batch) override {
    for (const TraceEvent& e : batch) {
      events.push_back({e.phase, e.ts_ns, e.dur_ns, std::string(e.name), std::string(e.id),
                        std::string(e.args), e.position});
    }
    return {};
  }
  void TakeMetadata(std::string_view key, std::string_view json) override {
    metadata.push_back(Concat(key, "=", json));
  }
};

class ReaderTest : public ::testing::Test {
 protected:
  std::string Write(std::string_view text, bool packed = false) {
    const std::string path = folder_.File("trace.json");
    if (packed) {
      gzFile file = gzopen(path.c_str(), "wb");
      EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
                static_cast<int>(text.size()));
      gzclose(file);
    } else {
      std::ofstream(path, std::ios::binary) << text;
    }
    return path;
  }
  Kept Read(std::string_view text, bool packed = false) {
    Kept kept;
    issues_ = {};
    status_ = ReadTraceEvents(Write(text, packed), kept, issues_);
    return kept;
  }

  base::TestFolder folder_;
  store::ImportIssues issues_;
  Status status_;
};

constexpr std::string_view kTwo =
    R"([{"ph": "X", "name": "a\u00e4\n", "pid": 1, "tid": "t", "ts": "12.3456", "dur": 828.33653125,)"
    R"( "args": {"k": {"x": [1, "}"]}}},)"
    "\n"
    R"({"name":"b","ph":"s","ts":1e3,"pid":2,"tid":3,"id":"0x1f"}])";

TEST_F(ReaderTest, ReadsAnArray) {
  const Kept kept = Read(kTwo);
  ASSERT_TRUE(status_.ok()) << status_.message();
  ASSERT_EQ(kept.events.size(), 2U);
  EXPECT_EQ(kept.events[0].name, "a\u00e4\n");
  EXPECT_EQ(kept.events[0].ts, 12346);
  EXPECT_EQ(kept.events[0].dur, 828337);
  EXPECT_EQ(kept.events[0].args, R"({"k": {"x": [1, "}"]}})");
  EXPECT_EQ(kept.events[1].ts, 1000000);
  EXPECT_EQ(kept.events[1].id, "0x1f");
  EXPECT_EQ(kept.events[1].position, kTwo.rfind('{'));
  EXPECT_TRUE(issues_.empty());
}

TEST_F(ReaderTest, ReadsAnObjectAndItsOtherMembers) {
  const std::string text =
      Concat(R"({"schemaVersion": 1, "list": [1, {"a": "]"}], "traceEvents": )", kTwo,
             R"(, "baseTimeNanoseconds": 17})");
  for (const bool packed : {false, true}) {
    const Kept kept = Read(text, packed);
    ASSERT_TRUE(status_.ok()) << status_.message();
    EXPECT_EQ(kept.events.size(), 2U);
    const std::vector<std::string> metadata = {"schemaVersion=1", R"(list=[1, {"a": "]"}])",
                                               "baseTimeNanoseconds=17"};
    EXPECT_EQ(kept.metadata, metadata);
    EXPECT_TRUE(issues_.empty());
  }
}

TEST_F(ReaderTest, CountsOtherMembersThatAreTooLong) {
  const std::string log(size_t{2} << 20U, 'x');
  const Kept kept = Read(Concat(R"({"a": 1, "traceEvents": )", kTwo, R"(, "systemTraceEvents": ")",
                                log, R"(", "b": 2})"));
  EXPECT_EQ(kept.events.size(), 2U);
  EXPECT_EQ(kept.metadata, (std::vector<std::string>{"a=1", "b=2"}));
  ASSERT_EQ(issues_.list().size(), 1U);
  EXPECT_EQ(issues_.Count("trace_metadata_too_long"), 1);
}

TEST_F(ReaderTest, ReadsManyEventsFromAPackedFile) {
  std::string text = "[";
  for (int i = 0; i < 200000; ++i) {
    const std::string n = std::to_string(i);
    text += Concat(i > 0 ? ",\n" : "", R"({"ph":"X","name":"op)", n, R"(","ts":)", n,
                   R"(.001,"dur":1,"pid":1,"tid":2,"args":{"id":)", n, "}}");
  }
  text += ']';
  const Kept kept = Read(text, true);
  ASSERT_TRUE(status_.ok());
  ASSERT_EQ(kept.events.size(), 200000U);
  EXPECT_EQ(kept.events[199999].ts, 199999001);
  EXPECT_EQ(kept.events[199999].name, "op199999");
  EXPECT_EQ(kept.events[100000].position, text.find(R"({"ph":"X","name":"op100000")"));
  EXPECT_TRUE(issues_.empty());
}

TEST_F(ReaderTest, GivesTheEventsBeforeTheEndOfACutFile) {
  const std::string text = Concat(R"({"a": 1, "traceEvents": )", kTwo, R"(, "b": [2]})");
  const size_t first = text.find("},\n") + 1;
  const size_t second = text.find(R"("0x1f"})") + 7;
  for (const bool packed : {false, true}) {
    for (size_t size = 0; size < text.size(); ++size) {
      const Kept kept = Read(std::string_view(text).substr(0, size), packed);
      EXPECT_EQ(status_.ok(), size > 0) << size;
      EXPECT_EQ(kept.events.size(), size < first ? 0U : size < second ? 1U : 2U) << size;
      EXPECT_TRUE(size == 0 || issues_.Count("trace_truncated") > 0 ||
                  issues_.Count("trace_bad_event") > 0)
          << size;
    }
  }
}

TEST_F(ReaderTest, GoesOnBehindTextThatIsNoEvent) {
  const Kept kept = Read(
      R"([{"ph":"X","ts":1,"name":"a"}, garbage {"ph":"X","ts":2:,"name":"b"}, 7,)"
      R"({"ph":"M","name":"m"},{"no phase":1}, {"ph":"X","name":"no time"},{"ph":"X","ts":99999999999999999999,"name":"c"},)"
      R"({"ph":"X","ts":"x"},{"ph":"X","ts":3,"name":"d"}])");
  ASSERT_TRUE(status_.ok());
  ASSERT_EQ(kept.events.size(), 3U);
  EXPECT_EQ(kept.events[2].name, "d");
  EXPECT_EQ(issues_.Count("trace_event_without_phase"), 1);
  EXPECT_EQ(issues_.Count("trace_bad_time"), 3);
  EXPECT_GE(issues_.Count("trace_bad_event"), 2);
}

// Nothing is cut off where the list is closed behind them, and the other members are read.
TEST_F(ReaderTest, CountsBadTextAtTheEndOfTheListOnce) {
  const std::string event = R"({"ph":"X","ts":1,"name":"a","args":{"b":[1]}})";
  for (const char* bad : {"garbage", R"({"ph":"X","ts":2)", "7", "}}", R"(["]",[2],3])",
                          R"("a\"]")", R"({"ph":"X","ts":2,"args":{"a":[1}})"}) {
    for (const bool packed : {false, true}) {
      for (const std::string_view frame : {"[@]", R"({"traceEvents":[@],"after":1})"}) {
        const std::string text = base::ReplaceAll(frame, "@", Concat(event, ", ", bad));
        const Kept kept = Read(text, packed);
        EXPECT_EQ(kept.events.size(), 1U) << text;
        ASSERT_EQ(issues_.list().size(), 1U) << text;
        EXPECT_EQ(issues_.Count("trace_bad_event"), 1) << text;
        EXPECT_EQ(issues_.list()[0].position, static_cast<int64_t>(text.rfind(bad)));
        EXPECT_EQ(kept.metadata.size(), frame.starts_with('{') ? 1U : 0U) << text;
      }
    }
  }
}

TEST_F(ReaderTest, CountsAnEndThatIsMissingOnce) {
  for (const char* cut :
       {R"([{"ph":"X","ts":1})", R"([{"ph":"X","ts":1}, {"ph":"X","args":{"a":[1,2])",
        R"([{"ph":"X","ts":1}, {"name":"a]})", R"({"traceEvents":[{"ph":"X","ts":1},)",
        R"({"traceEvents":[{"ph":"X","ts":1}, garbage)", R"({"traceEvents":[{"ph":"X","ts":1}])",
        R"({"traceEvents":[{"ph":"X","ts":1}], "a": [1, )",
        R"({"traceEvents":[{"ph":"X","ts":1}], "a": "b)"}) {
    for (const bool packed : {false, true}) {
      EXPECT_EQ(Read(cut, packed).events.size(), 1U) << cut;
      EXPECT_EQ(issues_.list().size(), 1U) << cut;
      EXPECT_EQ(issues_.Count("trace_truncated"), 1) << cut;
    }
  }
}

// More than the part of a packed file that is in memory at once.
TEST_F(ReaderTest, FindsTheEndOfTheListBehindMuchBadText) {
  std::string text = R"({"traceEvents":[{"ph":"X","ts":1}, bad)";
  while (text.size() < (size_t{12} << 20U)) text += R"(["not \"] an event", {"or": [1]}], )";
  const size_t size = text.size();
  for (const bool packed : {false, true}) {
    EXPECT_EQ(Read(text, packed).events.size(), 1U);
    EXPECT_EQ(issues_.Count("trace_truncated"), 1);
    EXPECT_EQ(issues_.Count("trace_bad_event"), 0);
    text += R"(], "after": 1)";
    EXPECT_EQ(Read(text + "}", packed).metadata, std::vector<std::string>{"after=1"});
    EXPECT_EQ(issues_.Count("trace_truncated"), 0);
    EXPECT_EQ(issues_.Count("trace_bad_event"), 1);
    text += std::string(size_t{9} << 20U, ' ') + R"(, {"ph":"X","ts":2}]})";  // was no end, then
    EXPECT_EQ(Read(text, packed).events.size(), 2U);
    EXPECT_EQ(issues_.Count("trace_bad_event"), 1);
    text.resize(size);
  }
}

TEST_F(ReaderTest, TakesQuotesThatWereNotEscapedAsPartOfTheText) {
  const Kept kept =
      Read(R"~([{"ph":"X","ts":1,"name":"call "f" (1)","args":{"file":"a "b" c","n":1}},)~"
           R"({"ph":"X","ts":2,"name":"next"}])");
  ASSERT_EQ(kept.events.size(), 2U);
  EXPECT_EQ(kept.events[0].name, R"~(call "f" (1))~");
  EXPECT_EQ(kept.events[0].args, R"({"file":"a "b" c","n":1})");
  EXPECT_EQ(issues_.Count("trace_unescaped_quote"), 2);
}

TEST_F(ReaderTest, NamesMayHoldListsOfTextsThatWereNotEscaped) {
  const Kept kept = Read(
      R"~([{"ph":"X","ts":1,"name":"lib = Lib("a", "b", {"k": "\"})\n(1): f","args":{"n":1}},)~"
      R"~({"ph":"X","name":"g("a", "b")", "ts":2, "dur": 1},)~"
      R"~({"ph":"X","name":"h("a", "b")"},{"ph":"X","ts":3,"name":"lost, "tid":1},)~"
      R"~({"ph":"X","ts":4,"name":"next"}])~");
  ASSERT_EQ(kept.events.size(), 3U);
  EXPECT_EQ(kept.events[0].name, "lib = Lib(\"a\", \"b\", {\"k\": \"\"})\n(1): f");
  EXPECT_EQ(kept.events[0].args, R"({"n":1})");
  EXPECT_EQ(kept.events[1].name, R"(g("a", "b"))");
  EXPECT_EQ(kept.events[2].name, "next");
  EXPECT_EQ(issues_.Count("trace_unescaped_quote"), 3);
  EXPECT_EQ(issues_.Count("trace_bad_time"), 1);
  EXPECT_EQ(issues_.Count("trace_bad_event"), 1);
}

TEST_F(ReaderTest, TakesArgumentsOfAnyDepth) {
  constexpr size_t kDepth = 1000000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  const Kept kept = Read(Concat(R"([{"ph":"X","ts":1,"args":{"a":)", deep, "}}]"));
  ASSERT_EQ(kept.events.size(), 1U);
  EXPECT_EQ(kept.events[0].args.size(), deep.size() + 6);
}

TEST_F(ReaderTest, RefusesFilesThatAreNoTraces) {
  Read("");
  EXPECT_NE(status_.message().find("empty"), std::string::npos) << status_.message();
  Read("hello");
  EXPECT_NE(status_.message().find("no trace"), std::string::npos) << status_.message();
  Kept kept;
  EXPECT_FALSE(ReadTraceEvents(folder_.path(), kept, issues_).ok());
  EXPECT_FALSE(ReadTraceEvents(folder_.File("absent"), kept, issues_).ok());
}

TEST_F(ReaderTest, CountsTextBehindTheEnd) {
  for (const std::string& head : {std::string(kTwo), Concat("{\"traceEvents\": ", kTwo, "}")}) {
    for (const char* space : {"", " \n\t"}) {
      ASSERT_EQ(Read(Concat(head, space)).events.size(), 2U);
      EXPECT_EQ(issues_.Count("trace_text_behind_end"), 0);
      for (const std::string_view more : {kTwo, std::string_view("]"), std::string_view("x")}) {
        for (const bool packed : {false, true}) {
          ASSERT_EQ(Read(Concat(head, space, more), packed).events.size(), 2U);
          ASSERT_EQ(issues_.Count("trace_text_behind_end"), 1);
          EXPECT_EQ(issues_.list()[0].position,
                    static_cast<int64_t>(head.size() + std::string_view(space).size()));
        }
      }
    }
  }
}

TEST_F(ReaderTest, CountsDataBehindAPackedFile) {
  const std::string path = Write(kTwo, /*packed=*/true);
  for (const auto& [tail, count] :
       {std::pair{std::string(100, '\0'), 0}, {std::string("more"), 1}}) {
    std::ofstream(path, std::ios::binary | std::ios::app) << tail;
    Kept kept;
    store::ImportIssues issues;
    ASSERT_TRUE(ReadTraceEvents(path, kept, issues).ok());
    EXPECT_EQ(kept.events.size(), 2U);
    EXPECT_EQ(issues.Count("gzip_text_behind_end"), count);
  }
}

TEST_F(ReaderTest, StopsAtAPackedFileThatExpandsTooMuch) {
  const std::string member = *base::ReadFile(Write("[" + std::string(64 << 20, ' '), true));
  const std::string path = folder_.File("bomb.gz");
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 20; ++i) file << member;
  file.close();
  Kept kept;
  ASSERT_TRUE(ReadTraceEvents(path, kept, issues_).ok());
  EXPECT_EQ(issues_.Count("gzip_expands_too_much"), 1);
}

TEST_F(ReaderTest, CountsADamagedPackedFile) {
  std::string text = "[";
  for (int i = 0; i < 20000; ++i) {
    text += Concat(i > 0 ? "," : "", R"({"ph":"X","ts":)", std::to_string(i * 7919), "}");
  }
  const std::string path = Write(text + "]", true);
  std::string bytes = *base::ReadFile(path);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  std::ofstream(path, std::ios::binary) << bytes;
  Kept kept;
  ASSERT_TRUE(ReadTraceEvents(path, kept, issues_).ok());
  EXPECT_GT(kept.events.size(), 1000U);
  EXPECT_EQ(issues_.Count("gzip_damaged"), 1);
}

TEST(JsonText, RoundsMicrosecondsToTheNearestNanosecondTiesToEven) {
  const auto parse = [](std::string_view text) {
    int64_t ns = -1;
    return ParseMicroseconds(text, ns) ? std::to_string(ns) : std::string("none");
  };
  EXPECT_EQ(parse("1736408883732241.520"), "1736408883732241520");
  EXPECT_EQ(parse("5"), "5000");
  EXPECT_EQ(parse("5.1"), "5100");
  EXPECT_EQ(parse("0.0005"), "0");
  EXPECT_EQ(parse("0.0015"), "2");
  EXPECT_EQ(parse("0.00250000000001"), "3");
  EXPECT_EQ(parse("-3.5"), "-3500");
  EXPECT_EQ(parse("1.795262355253678e+15"), "1795262355253678000");
  EXPECT_EQ(parse("9223372036854775.807"), "9223372036854775807");
  EXPECT_EQ(parse("9223372036854775.808"), "none");
  EXPECT_EQ(parse("12345678901234567890"), "none");
  EXPECT_EQ(parse("5.x"), "none");
  EXPECT_EQ(parse(""), "none");
  EXPECT_EQ(parse("NaN"), "none");
}

TEST(JsonText, Unescapes) {
  EXPECT_EQ(Unescape(R"(a\"b\\c\/\n\u0041\ud83d\ude00\ud800x\q)"),
            "a\"b\\c/\nA\xf0\x9f\x98\x80\xef\xbf\xbdx\\q");
}

}  // namespace
}  // namespace sonde::importers::trace_events

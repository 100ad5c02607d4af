// Generic traces of events, from file to store.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/import_trace.h"
#include "importers/testing/query_text.h"

namespace sonde::importers {
namespace {

class TraceImportTest : public ::testing::Test {
 protected:
  void Import(std::string_view text, int threads = 1) {
    const std::string path = folder_.File("a.json");
    std::ofstream(path, std::ios::binary) << text;
    const auto sources = FindTraces(folder_.path());
    ASSERT_TRUE(sources.ok());
    ASSERT_EQ(sources->size(), 1U);
    auto imported = ImportTrace((*sources)[0], folder_.File("s.duckdb"), {.threads = threads});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    store_ = std::move(imported->store);
    summary_ = std::move(imported->summary);
  }

  std::string Rows(const std::string& sql) { return testing::QueryText(*store_, sql); }
  int64_t Issues(std::string_view code) const {
    for (const store::ImportIssue& issue : summary_.issues) {
      if (issue.code == code) return issue.count;
    }
    return 0;
  }

  base::TestFolder folder_;
  std::unique_ptr<store::Store> store_;
  ImportSummary summary_;
};

TEST_F(TraceImportTest, NestsSlicesOfAThread) {
  Import(R"([{"ph":"X","name":"child","ts":2,"dur":3,"pid":1,"tid":2},
             {"ph":"X","name":"root","cat":"c","ts":1,"dur":9.5,"pid":1,"tid":2,"args":{"a":1}},
             {"ph":"X","name":"leaf","ts":2,"dur":1,"pid":1,"tid":2},
             {"ph":"X","name":"beside","ts":9,"dur":8,"pid":1,"tid":2},
             {"ph":"X","name":"other","ts":0,"dur":1,"pid":1,"tid":"x"},
             {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}},
             {"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"prog"}}])");
  EXPECT_EQ(Rows("SELECT name, ts, dur, depth, parent_id FROM slice WHERE track_id = 1 "
                 "ORDER BY slice_id"),
            "root 1000 9500 0 -\nchild 2000 3000 1 1\nleaf 2000 1000 2 2\n");
  EXPECT_EQ(Rows("SELECT s.name, t.name FROM slice s JOIN track t USING (track_id) "
                 "WHERE s.name IN ('beside', 'other') ORDER BY 1"),
            "beside main\nother Thread x\n");
  EXPECT_EQ(Issues("ranges_overlap"), 1);
  EXPECT_EQ(Rows("SELECT pid, name FROM process"), "1 prog\n");
}

TEST_F(TraceImportTest, PairsBeginsAndEnds) {
  Import(R"([{"ph":"E","ts":0,"pid":1,"tid":1},
             {"ph":"B","name":"a","ts":1,"pid":1,"tid":1},
             {"ph":"B","name":"b","ts":2,"pid":1,"tid":1},
             {"ph":"E","ts":3,"pid":1,"tid":1},
             {"ph":"E","name":"a","ts":5,"pid":1,"tid":1},
             {"ph":"B","name":"open","ts":6,"pid":1,"tid":1},
             {"ph":"b","name":"async","cat":"q","id":7,"ts":1,"pid":1,"tid":1},
             {"ph":"b","name":"async","cat":"q","id":8,"ts":2,"pid":1,"tid":1},
             {"ph":"e","name":"async","cat":"q","id":7,"ts":4,"pid":1,"tid":9},
             {"ph":"e","name":"async","cat":"q","id":8,"ts":9,"pid":1,"tid":1}])");
  EXPECT_EQ(Rows("SELECT s.name, ts, dur, t.kind FROM slice s JOIN track t USING (track_id) "
                 "ORDER BY t.kind DESC, ts, dur"),
            "a 1000 4000 thread\nb 2000 1000 thread\nopen 6000 -1 thread\n"
            "async 1000 3000 span\nasync 2000 7000 span\n");
  EXPECT_EQ(Issues("trace_unbalanced_range"), 1);
  EXPECT_EQ(Issues("trace_unfinished_range"), 1);
}

// Begins and ends that are equal, without a length too, among slices of one event.
TEST_F(TraceImportTest, EqualTimesNestInTheOrderOfTheFile) {
  Import(R"([{"ph":"B","name":"a","ts":1,"pid":1,"tid":1},
             {"ph":"X","name":"b","ts":1,"dur":5,"pid":1,"tid":1},
             {"ph":"B","name":"c","ts":1,"pid":1,"tid":1},
             {"ph":"E","ts":6,"pid":1,"tid":1},
             {"ph":"E","ts":6,"pid":1,"tid":1},
             {"ph":"B","name":"z","ts":9,"pid":1,"tid":1},
             {"ph":"B","name":"y","ts":9,"pid":1,"tid":1},
             {"ph":"E","ts":9,"pid":1,"tid":1},
             {"ph":"B","name":"x","ts":9,"pid":1,"tid":1},
             {"ph":"E","ts":9,"pid":1,"tid":1},
             {"ph":"E","ts":9,"pid":1,"tid":1}])");
  EXPECT_EQ(Rows("SELECT s.name, s.dur, p.name FROM slice s LEFT JOIN slice p ON p.slice_id = "
                 "s.parent_id ORDER BY s.ts, s.depth, s.slice_id"),
            "a 5000 -\nb 5000 a\nc 5000 b\nz 0 -\ny 0 z\nx 0 z\n");
}

TEST_F(TraceImportTest, EventsWithoutAProcessAreOfNumberZero) {
  Import(R"([{"ph":"M","name":"process_name","pid":0,"args":{"name":"P"}},
             {"ph":"X","name":"a","ts":1,"dur":1},
             {"ph":"X","name":"b","ts":1,"dur":1,"pid":"","tid":""}])");
  EXPECT_EQ(Rows("SELECT s.name, p.name, h.tid FROM slice s JOIN track USING (track_id) JOIN "
                 "process p USING (process_id) JOIN thread h USING (thread_id) ORDER BY 1 LIMIT 1"),
            "a P 0\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM process"), "2\n");
}

TEST_F(TraceImportTest, ImpossibleTimesStretchNothing) {
  Import(R"([{"ph":"X","name":"a","ts":1615207264505000,"dur":10,"pid":1,"tid":1},
             {"ph":"X","name":"b","ts":1615207264505020,"dur":10,"pid":1,"tid":1},
             {"ph":"X","name":"endless","ts":1615207264505020,"dur":900000000000,"pid":1,"tid":2},
             {"ph":"X","name":"zero","ts":0,"dur":0,"pid":1,"tid":1},
             {"ph":"i","name":"mark","ts":0,"pid":1,"tid":1},
             {"ph":"C","name":"c","ts":0,"pid":1,"args":{"v":1}},
             {"ph":"C","name":"c","ts":1615207264505025,"pid":1,"args":{"v":2}}])");
  EXPECT_EQ(Rows("SELECT name, dur FROM slice ORDER BY name"), "a 10000\nb 10000\nendless 0\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM mark"), "0\n");
  EXPECT_EQ(Rows("SELECT value FROM counter"), "2.000000\n");
  EXPECT_EQ(Issues("trace_time_impossible"), 3);
  EXPECT_EQ(Issues("trace_duration_impossible"), 1);
  EXPECT_EQ(summary_.end_ns - summary_.begin_ns, 30'000);
}

TEST_F(TraceImportTest, LocalIdsAreOfTheirProcess) {
  Import(R"([{"ph":"b","name":"a","id2":{"local":"0x1"},"ts":1,"pid":1,"tid":1},
             {"ph":"e","name":"a","id2":{"local":"0x1"},"ts":9,"pid":2,"tid":1},
             {"ph":"b","name":"g","id2":{"global":"0x1"},"ts":1,"pid":1,"tid":1},
             {"ph":"e","name":"g","id2":{"global":"0x1"},"ts":9,"pid":2,"tid":1}])");
  EXPECT_EQ(Rows("SELECT name, dur FROM slice ORDER BY name"), "a -1\ng 8000\n");
  EXPECT_EQ(Issues("trace_unbalanced_range"), 1);
  EXPECT_EQ(Issues("trace_unfinished_range"), 1);
}

TEST_F(TraceImportTest, TimesCountFromTheBaseOfTheFile) {
  Import(R"({"traceEvents": [{"ph":"X","name":"a","ts":1.5,"dur":2,"pid":1,"tid":1}],
             "baseTimeNanoseconds": 7000000000})");
  EXPECT_EQ(Rows("SELECT ts, dur FROM slice"), "7000001500 2000\n");
  Import(R"({"traceEvents": [{"ph":"X","name":"a","ts":1.5,"dur":2,"pid":1,"tid":1}],
             "baseTimeNanoseconds": "soon"})");
  EXPECT_EQ(Rows("SELECT ts, dur FROM slice"), "1500 2000\n");
  EXPECT_EQ(Issues("trace_bad_base_time"), 1);
}

// Behind those with events, whose numbers do not change.
TEST_F(TraceImportTest, KeepsNamesOfProcessesAndThreadsWithoutEvents) {
  Import(R"([{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"GPU 7"}},
             {"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"idle"}},
             {"ph":"M","name":"process_uptime","pid":4,"args":{"uptime":5}},
             {"ph":"M","name":"process_labels","pid":1,"args":{"labels":"idle"}},
             {"ph":"M","name":"process_sort_index","pid":5,"args":{"sort_index":5}},
             {"ph":"X","name":"a","ts":1,"dur":1,"pid":3,"tid":4}])");
  EXPECT_EQ(Rows("SELECT process_id, pid, name FROM process ORDER BY process_id"),
            "0 3 3\n1 1 GPU 7\n2 2 2\n3 4 4\n");
  EXPECT_EQ(Rows("SELECT thread_id, tid, process_id, name FROM thread ORDER BY thread_id"),
            "0 4 0 4\n1 1 2 idle\n");
  EXPECT_EQ(Rows("SELECT process_id, key, value FROM metadata ORDER BY process_id"),
            "1 process_labels \"idle\"\n3 process_uptime {\"uptime\":5}\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM track"), "1\n");
}

TEST_F(TraceImportTest, SplitsArgumentsByType) {
  Import(R"([{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1,"args":
              {"i":-5,"d":0.5,"long":18446744073709551616,"cut":1.50,"s":"t\n","l":[1, 2],"n":null}},
             {"ph":"X","name":"b","ts":3,"dur":1,"pid":1,"tid":1,"args":{}}])");
  EXPECT_EQ(Rows("SELECT key, value, int_value FROM args ORDER BY key"),
            "cut 1.50 -\nd 0.5 -\ni -5 -5\nl [1, 2] -\nlong 18446744073709551616 -\nn null -\n"
            "s t\n -\n");
  EXPECT_EQ(Rows("SELECT name, args_id IS NULL FROM slice ORDER BY ts"), "a 0\nb 1\n");
}

// Keys, white space and values change from set to set; the shapes are learnt meanwhile.
TEST_F(TraceImportTest, TakesArgumentsInAnyForm) {
  std::string text = "[";
  std::map<std::string, int64_t> expected;
  int64_t ts = 0;
  const auto add = [&](const std::string& args, std::initializer_list<const char*> rows) {
    text += base::Concat(ts > 0 ? ",\n" : "", R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":)",
                         std::to_string(ts), R"(,"dur":1,"args":)", args, "}");
    ts += 2;
    for (const char* row : rows) ++expected[row];
  };
  for (int round = 0; round < 3; ++round) {
    const std::string n = std::to_string(100 + round);
    add(R"({"a":)" + n + R"(,"b": "x"})", {"b x"});
    add(R"({ "a" : )" + n + R"( , "b":"y\"z" })", {R"(b y"z)"});
    add(R"({"b": [1, {"a": ")" + n + R"("}], "c": null, "d": true})", {"c null", "d true"});
    add(R"({"a":)" + n + R"(,"a": 0.5, "e": -12.125})", {"a 0.5", "e -12.125"});
    add(base::Concat(R"({"\u0061":)", n, R"(, "k)", n, R"(": 1e3})"), {});
    add(R"({"e":1.50,"f":00,"g":-0,"h":12345678901234567890})",
        {"e 1.50", "f 00", "g -0", "h 12345678901234567890"});
    for (int key = 0; key < 40; ++key) {  // more shapes than are kept
      const std::string k = base::Concat("many", std::to_string(key));
      add(base::Concat(R"({")", k, R"(": )", n, R"(, "last": "same"})"), {"last same"});
    }
  }
  Import(text + "]");
  std::string rows;
  for (const auto& [row, count] : expected)
    rows += base::Concat(row, " ", std::to_string(count), "\n");
  EXPECT_EQ(Rows("SELECT key, value, count(*) FROM slice JOIN args USING (args_id) "
                 "WHERE int_value IS NULL AND NOT starts_with(value, '[') AND key[1] <> 'k' "
                 "GROUP BY 1, 2 ORDER BY key || ' ' || value"),
            rows);
  EXPECT_EQ(Rows("SELECT count(*), count(DISTINCT key), sum(int_value) FROM slice "
                 "JOIN args USING (args_id) WHERE int_value IS NOT NULL"),
            "132 41 13332\n");
  EXPECT_EQ(Issues("trace_bad_arguments"), 0);
}

TEST_F(TraceImportTest, ThreadClockAndStackFramesAreArguments) {
  Import(R"([{"ph":"X","name":"x","ts":1,"dur":1,"pid":1,"tid":1,"tts":7,"tdur":2.5,"sf":"12"},
             {"ph":"B","name":"b","ts":3,"pid":1,"tid":1,"tts":8,"args":{"a":1}},
             {"ph":"E","name":"b","ts":4,"pid":1,"tid":1,"tts":9},
             {"ph":"B","name":"c","ts":5,"pid":1,"tid":1,"tts":10},
             {"ph":"E","name":"c","ts":6,"pid":1,"tid":1,"args":{"end":2,"tts":11}},
             {"ph":"b","id":1,"name":"d","ts":7,"pid":1,"tid":1,"stack":["f","g"],"args":{}},
             {"ph":"e","id":1,"name":"d","ts":8,"pid":1,"tid":1}])");
  EXPECT_EQ(Rows("SELECT name, key, value FROM slice JOIN args USING (args_id) ORDER BY name, key"),
            "b a 1\nb end_tts 9\nb tts 8\nc end 2\nc tts 11\nd stack [\"f\",\"g\"]\nx sf 12\n"
            "x tdur 2.5\nx tts 7\n");
  EXPECT_EQ(Issues("trace_keys_not_imported"), 0);
}

TEST_F(TraceImportTest, ArrowsOfAsynchronousEventsBindToNoThread) {
  Import(R"([{"ph":"b","id":1,"cat":"c","name":"d","ts":1,"pid":1,"tid":1,"bind_id":"0x5",
              "flow_out":true},
             {"ph":"X","name":"x","ts":4,"dur":3,"pid":1,"tid":1},
             {"ph":"X","name":"y","ts":8,"dur":3,"pid":1,"tid":1,"bind_id":"0x5","flow_in":true},
             {"ph":"e","id":1,"cat":"c","name":"d","ts":9,"pid":1,"tid":1}])");
  EXPECT_EQ(Rows("SELECT count(slice_out), max(name) FROM flow JOIN slice ON slice_id = slice_in"),
            "0 y\n");
}

TEST_F(TraceImportTest, BindsFlowsAndTakesCountersAndInstants) {
  Import(R"([{"ph":"X","name":"launch","ts":1,"dur":5,"pid":1,"tid":1},
             {"ph":"X","name":"kernel","ts":10,"dur":5,"pid":2,"tid":7},
             {"ph":"X","name":"next","ts":20,"dur":5,"pid":2,"tid":7},
             {"ph":"s","name":"f","cat":"x","id":"0x10","ts":2,"pid":1,"tid":1},
             {"ph":"f","name":"f","cat":"x","id":"0x10","bp":"e","ts":12,"pid":2,"tid":7},
             {"ph":"s","name":"f","cat":"x","id":3,"ts":2,"pid":1,"tid":1},
             {"ph":"f","name":"f","cat":"x","id":3,"ts":12,"pid":2,"tid":7},
             {"ph":"f","name":"f","cat":"x","id":4,"ts":12,"pid":2,"tid":7},
             {"ph":"C","name":"mem","ts":4,"pid":1,"tid":0,"args":{"used":7,"free":"1.5"}},
             {"ph":"i","name":"now","cat":"k","ts":3,"pid":1,"tid":1,"s":"t"},
             {"ph":"N","name":"object","ts":3,"pid":1,"tid":1}])");
  EXPECT_EQ(Rows("SELECT key, a.name, b.name FROM flow JOIN slice a ON a.slice_id = slice_out "
                 "JOIN slice b ON b.slice_id = slice_in ORDER BY key"),
            "3 launch next\n16 launch kernel\n");
  EXPECT_EQ(Rows("SELECT t.name, ts, (value * 10)::INTEGER FROM counter JOIN track t "
                 "USING (track_id) ORDER BY 1"),
            "mem free 4000 15\nmem used 4000 70\n");
  EXPECT_EQ(Rows("SELECT message, domain, ts, dur, kind FROM mark"), "now k 3000 0 marker\n");
  EXPECT_EQ(Issues("trace_flow_unpaired"), 1);
  EXPECT_EQ(Issues("trace_phase_not_imported"), 1);
}

TEST_F(TraceImportTest, ArrowsFindSlicesThatWereMovedAside) {
  Import(R"([{"ph":"X","name":"launch","ts":1,"dur":5,"pid":1,"tid":1},
             {"ph":"X","name":"long","ts":10,"dur":20,"pid":2,"tid":7},
             {"ph":"X","name":"overlaps","ts":15,"dur":30,"pid":2,"tid":7},
             {"ph":"s","name":"f","cat":"x","id":1,"ts":2,"pid":1,"tid":1},
             {"ph":"f","name":"f","cat":"x","id":1,"bp":"e","ts":15,"pid":2,"tid":7},
             {"ph":"s","name":"f","cat":"x","id":2,"ts":2,"pid":1,"tid":1},
             {"ph":"f","name":"f","cat":"x","id":2,"bp":"e","ts":16,"pid":2,"tid":7}])");
  EXPECT_EQ(Rows("SELECT key, a.name, b.name FROM flow JOIN slice a ON a.slice_id = slice_out "
                 "JOIN slice b ON b.slice_id = slice_in ORDER BY key"),
            "1 launch overlaps\n2 launch long\n");
}

TEST_F(TraceImportTest, CountsStrangeDurations) {
  Import(R"([{"ph":"X","name":"a","ts":1,"dur":-1,"pid":1,"tid":1},
             {"ph":"X","name":"b","ts":3,"pid":1,"tid":1},
             {"ph":"X","name":"c","ts":4,"dur":12345678901234567890,"pid":1,"tid":1},
             {"ph":"X","name":"d","ts":8000000000000000,"dur":1,"pid":1,"tid":1}])");
  EXPECT_EQ(Rows("SELECT name, dur FROM slice ORDER BY ts"), "a 0\nb 0\n");
  EXPECT_EQ(Issues("trace_negative_duration"), 1);
  EXPECT_EQ(Issues("trace_without_duration"), 1);
  EXPECT_EQ(Issues("trace_bad_time"), 2);
}

// Large enough to be cut in pieces for two readers.
std::string LargeTrace(bool nested_events) {
  std::string text = "[";
  for (int i = 0; i < 100000; ++i) {
    const std::string n = std::to_string(i);
    text += base::Concat(i > 0 ? ",\n" : "", R"({"ph":"X","name":"op)", std::to_string(i % 50),
                         R"(","ts":)", n, R"(.001,"dur":1,"pid":1,"tid":)", std::to_string(i % 3),
                         R"(,"args":{"id":)", n);
    if (nested_events) text += R"(,"list":[{"name":"x"},{"name":"y"},{"name":"z"}])";
    text += "}}";
  }
  return text + "]";
}

// Flows over many pieces, two ends of one number at the same moment, and a counter with them.
TEST_F(TraceImportTest, TwoReadersGiveTheSameFlowsAndCounters) {
  std::string text = "[";
  constexpr int kEvents = 60000;
  for (int i = 0; i < kEvents; ++i) {
    const std::string ts = std::to_string(i * 10);
    const std::string id = std::to_string((i % 3 == 0 ? kEvents - i : i) / 4);
    text += base::Concat(i > 0 ? ",\n" : "", R"({"ph":"X","name":"a","ts":)", ts,
                         R"(,"dur":8,"pid":1,"tid":)", std::to_string(i % 2), "},", R"({"ph":")",
                         i % 2 == 0 ? "s" : "f", R"(","name":"f","cat":"x","id":)");
    text += base::Concat(id, R"(,"ts":)", ts, R"(,"pid":1,"tid":)", std::to_string(i % 2), "},",
                         R"({"ph":"C","name":"c","pid":1,"ts":)", ts, R"(,"args":{"v":)",
                         std::to_string(i) + "." + std::to_string(i % 7) + "}}");
  }
  std::string results[2];
  for (const int threads : {1, 2}) {
    Import(text + "]", threads);
    EXPECT_EQ(Rows("SELECT count(*) FROM counter"), "60000\n");
    results[threads - 1] =
        Rows("SELECT flow_id, key, slice_out, slice_in FROM flow ORDER BY flow_id") +
        Rows("SELECT ts, value::VARCHAR FROM counter") +
        Rows("SELECT code, count FROM import_issue ORDER BY code");
  }
  EXPECT_GT(results[0].size(), 1000000U);
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(TraceImportTest, CountersTakeNumbersInEveryForm) {
  Import(R"([{"ph":"C","name":"m","ts":1,"pid":1,"args":{"v":-3}},
             {"ph":"C","name":"m","ts":2,"pid":1,"args":{"v":0.125}},
             {"ph":"C","name":"m","ts":3,"pid":1,"args":{"v":1e3}},
             {"ph":"C","name":"m","ts":4,"pid":1,"args":{"v":123456789012345678901}},
             {"ph":"C","name":"m","ts":5,"pid":1,"args":{"v":"7"}},
             {"ph":"C","name":"m","ts":6,"pid":1,"args":{"v":0.12345678901234567}},
             {"ph":"C","name":"m","ts":7,"pid":1,"args":{"v":"7 MB"}},
             {"ph":"C","name":"m","ts":8,"pid":2,"args":{"v":1}},
             {"ph":"C","name":"m","ts":9,"pid":1,"id":"2","args":{"v":2}}])");
  EXPECT_EQ(Rows("SELECT ts, value::VARCHAR FROM counter ORDER BY ts"),
            "1000 -3.0\n2000 0.125\n3000 1000.0\n4000 1.2345678901234568e+20\n5000 7.0\n"
            "6000 0.12345678901234566\n8000 1.0\n9000 2.0\n");
  EXPECT_EQ(Rows("SELECT count(DISTINCT track_id) FROM counter"), "3\n");
  EXPECT_EQ(Issues("trace_bad_counter"), 1);
}

TEST_F(TraceImportTest, ArgumentsThatAreNoObjectAreKept) {
  Import(R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": "text"},
             {"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 3, "dur": 1, "args": [1, "}"]},
             {"ph": "X", "name": "c", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": null},
             {"ph": "X", "name": "d", "pid": 1, "tid": 1, "ts": 7, "dur": 1, "args": 7}])");
  EXPECT_EQ(Rows("SELECT s.name, a.key, a.value FROM slice s LEFT JOIN args a USING (args_id) "
                 "ORDER BY s.ts"),
            "a args text\nb args [1, \"}\"]\nc - -\nd args 7\n");
}

TEST_F(TraceImportTest, TextsThatAreNotUtf8AreCounted) {
  Import("[{\"ph\": \"X\", \"name\": \"caf\xe9\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1}]");
  EXPECT_EQ(Rows("SELECT name FROM slice"), "caf\uFFFD\n");
  EXPECT_EQ(Issues("text_garbled"), 1);
}

TEST_F(TraceImportTest, CountersThatADoubleCannotHoldAreCounted) {
  const auto import = [this](const std::string& value) {
    Import(base::Concat(R"([{"ph": "C", "name": "c", "pid": 1, "ts": 1, "args": {"v": )", value,
                        "}}]"));
    return Issues("trace_counter_rounded");
  };
  for (const char* exact : {"9007199254740992", "-9007199254740994", "18446744073709551616", "0.1",
                            "0.10000000000000000", "1234567.8901234567", "36893488147419103232",
                            "1e22", "000", "0.00012345678901234567"}) {
    EXPECT_EQ(import(exact), 0) << exact;
  }
  for (const char* rounded :
       {"9007199254740993", "-9007199254740993", "9223372036854775807", "18446744073709551617",
        "123456789012345678901234567890", "0.12345678901234567890"}) {
    EXPECT_EQ(import(rounded), 1) << rounded;
  }
  for (const char* none : {"NaN", "Infinity", "-inf", "1e999", "true"}) {
    import(none);
    EXPECT_EQ(Issues("trace_bad_counter"), 1) << none;
    EXPECT_EQ(Rows("SELECT count(*) FROM counter"), "0\n") << none;
  }
}

TEST_F(TraceImportTest, TwoReadersGiveTheSameAsOne) {
  for (const bool nested : {false, true}) {
    const std::string text = LargeTrace(nested);
    std::string results[2];
    for (const int threads : {1, 2}) {
      Import(text, threads);
      results[threads - 1] = Rows(
          "SELECT s.slice_id, s.ts, s.dur, s.track_id, s.name, s.depth, a.value FROM slice s JOIN "
          "args a USING (args_id) WHERE a.key = 'id' ORDER BY slice_id");
      EXPECT_EQ(Rows("SELECT count(*) FROM slice"), "100000\n");
      EXPECT_EQ(Rows("SELECT count(*) FROM args WHERE key = 'id'"), "100000\n");
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

}  // namespace
}  // namespace sonde::importers

// Generic traces of events, from file to store.
#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/registry.h"

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

  // All cells of a small result, rows joined by newline.
  std::string Rows(const std::string& sql) {
    const auto result = store_->Query(sql);
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (!result.ok()) return "";
    std::string text;
    for (size_t row = 0; row < result->rows(); ++row) {
      for (size_t column = 0; column < result->columns().size(); ++column) {
        text += column > 0 ? " " : "";
        const auto& values = result->columns()[column].values;
        if (result->IsNull(column, row)) {
          text += '-';
        } else if (std::holds_alternative<std::vector<int64_t>>(values)) {
          text += std::to_string(result->Int(column, row));
        } else {
          text += result->Text(column, row);
        }
      }
      text += '\n';
    }
    return text;
  }
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
  EXPECT_EQ(Issues("trace_overlap"), 1);
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

TEST_F(TraceImportTest, SplitsArgumentsByType) {
  Import(R"([{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1,"args":
              {"i":-5,"d":0.5,"long":18446744073709551616,"cut":1.50,"s":"t\n","l":[1, 2],"n":null}},
             {"ph":"X","name":"b","ts":3,"dur":1,"pid":1,"tid":1,"args":{}}])");
  EXPECT_EQ(Rows("SELECT key, value, int_value FROM args ORDER BY key"),
            "cut 1.50 -\nd 0.5 -\ni -5 -5\nl [1, 2] -\nlong 18446744073709551616 -\nn null -\n"
            "s t\n -\n");
  EXPECT_EQ(Rows("SELECT name, args_id IS NULL FROM slice ORDER BY ts"), "a 0\nb 1\n");
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

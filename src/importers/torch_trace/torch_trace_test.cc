// Logs of TORCH_TRACE made for the test: what their records mean, and logs that are damaged.
#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/import_trace.h"
#include "importers/testing/query_text.h"
#include "importers/torch_trace/import.h"

namespace sonde::importers {
namespace {

using base::Concat;

constexpr std::string_view kHead = "V1130 04:36:29.192000 8516 torch/_dynamo/utils.py:2473] ";

std::string Event(std::string_view phase, std::string_view name, std::string_view ts,
                  std::string_view id = R"("frame_id": 0, "frame_compile_id": 1, )",
                  std::string_view args = "{}") {
  return Concat(kHead, R"({"chromium_event": {}, )", id, "\"attempt\": 0}\n\t{\n\t\"name\": \"",
                name, "\",\n\t\"ts\": ", ts, ",\n\t\"args\": ", args, ",\n\t\"ph\": \"", phase,
                "\"\n\t}\n");
}

std::string Artifact(std::string_view name, std::string_view payload) {
  return Concat(kHead, R"({"artifact": {"name": ")", name,
                R"(", "encoding": "string"}, "frame_id": 0, "frame_compile_id": 1})", "\n\t",
                base::ReplaceAll(payload, "\n", "\n\t"), "\n");
}

// A compilation again after a guard failed, which breaks the graph: traced twice.
std::string Log() {
  return Concat(
      Event("B", "dynamo", "1000000000.5"), Event("B", "entire_frame_compile", "1000000001.0"),
      Artifact("recompile_reasons", "0/0: size   mismatch\nmore"),
      Event("B", "bytecode_tracing", "1000000002.0"),
      Artifact("dynamo_graph_break_reason",
               "Graph break in user code at /a/b.py:9\nGraph Break Reason: Call\n  Explanation: No "
               "print.\n  Hint: none"),
      Event("E", "bytecode_tracing", "1000000012.0"),
      Artifact("dynamo_graph_break_reason",
               "Graph break in user code at /a/b.py:9\nGraph Break Reason: Call\n  Explanation: No "
               "print.\n  Hint: none"),
      Event("B", "create_aot_dispatcher_function", "1000000020.0"),
      Event("B", "inductor_compile", "1000000030.0"),
      Event("B", "fx_codegen_and_compile", "1000000031.0"),
      Event("B", "compile_file", "1000000032.0"), Event("E", "compile_file", "1000000036.0"),
      Event("i", "fx_graph_cache_bypass", "1000000037.0",
            R"("frame_id": 0, "frame_compile_id": 1, )",
            R"({"cache_bypass_reason": "no key", "key": "f1"})"),
      Event("E", "fx_codegen_and_compile", "1000000038.0"),
      Event("E", "inductor_compile", "1000000040.0"),
      Event("E", "create_aot_dispatcher_function", "1000000050.0"),
      Event("B", "build_guards", "1000000051.0"), Event("E", "build_guards", "1000000053.0"),
      Event("E", "entire_frame_compile", "1000000060.0"), kHead,
      R"({"compilation_metrics": {"compile_id": "0/1", "co_name": "forward", "co_filename": )",
      R"("/a/b.py", "co_firstlineno": 7, "guard_count": 3, "graph_op_count": 4, "is_forward": true,)",
      R"( "end_time_us": 1000000061}, "frame_id": 0, "frame_compile_id": 1})", "\n",
      Event("E", "dynamo", "1000000062.0"));
}

class TorchTraceTest : public ::testing::Test {
 protected:
  void Import(std::string_view text) {
    const std::string path = folder_.File("dedicated_log_torch_trace_rank_2_abc.log");
    std::ofstream(path, std::ios::binary) << text;
    const auto sources = FindTraces(folder_.path());
    ASSERT_TRUE(sources.ok() && sources->size() == 1U);
    EXPECT_STREQ((*sources)[0].importer->name, "torch_trace");
    EXPECT_EQ(*(*sources)[0].importer->rank(path), 2);
    auto imported = ImportTrace((*sources)[0], folder_.File("s.duckdb"), {.threads = 1});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    store_ = std::move(imported->store);
  }
  std::string Rows(const std::string& sql) { return testing::QueryText(*store_, sql); }
  std::string Facts() {
    return Rows("SELECT value FROM metadata WHERE key LIKE 'compilation:%' ORDER BY key");
  }
  std::string Issues() { return Rows("SELECT code, count FROM import_issue ORDER BY code"); }

  base::TestFolder folder_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(TorchTraceTest, ACompilationIsAFactAndRanges) {
  Import(Log());
  EXPECT_EQ(Facts(),
            R"({"compile_id":"0/1","function":"forward","file":"/a/b.py","line":7,)"
            R"("begin_ns":1000000000500,"dur_ns":60500,"tracing_ns":10000,"aot_ns":20000,)"
            R"("inductor_ns":6000,"native_ns":4000,"guards_ns":2000,)"
            R"~("cache":"fx_graph_cache bypass (no key)","reason":"0/0: size mismatch",)~"
            R"~("breaks":["No print. (/a/b.py:9)"],"guards":3,"operators":4,"backward":false,)~"
            R"("error":""})"
            "\n");
  EXPECT_EQ(Rows("SELECT name, ts, dur, depth FROM slice WHERE depth < 2 ORDER BY slice_id"),
            "dynamo (dynamo_timed) 1000000000500 61500 0\n"
            "entire_frame_compile (dynamo_timed) 1000000001000 59000 1\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM slice"), "9\n");
  EXPECT_EQ(Rows("SELECT pid, rank, name FROM process"), "8516 2 torch compiler\n");
  EXPECT_EQ(Issues(), "");
}

TEST_F(TorchTraceTest, WithoutAFrameTheOutermostRangeIsTheCompilation) {
  Import(Concat(Event("B", "inductor_compile", "5.0", ""),
                Event("E", "inductor_compile", "9.5", ""), Event("B", "compile_file", "10.0", ""),
                Event("E", "compile_file", "11.0", "")));
  EXPECT_EQ(Rows("SELECT count(*), max(value LIKE '%\"inductor_ns\":4500,%') FROM metadata WHERE "
                 "key LIKE 'compilation:%'"),
            "1 1\n");
}

TEST_F(TorchTraceTest, WhatTheEndOfTheLogInterruptsIsCounted) {
  const std::string log = Log();
  Import(log.substr(0, log.find("\"compile_file\"")));
  EXPECT_TRUE(base::Contains(Facts(), R"("error":"the log ends before the compilation does")"));
  EXPECT_EQ(Issues(), "torch_trace_bad_record 1\ntorch_trace_no_end 5\ntorch_trace_truncated 1\n");
}

TEST_F(TorchTraceTest, DamagedRecordsAreCounted) {
  std::string log = Concat("no record\n", Log());
  log = Concat(kHead, "{\"chromium_event\": {}}\n\t{\"name\": \n", log, kHead,
               "{\"chromium_event\": [}\n", Event("B", "dynamo", "\"x\""),
               Event("E", "other", "1000000070.0"), Event("X", "dynamo", "1000000070.0"));
  Import(log);
  EXPECT_EQ(Issues(), "torch_trace_bad_line 1\ntorch_trace_bad_record 4\ntorch_trace_no_begin 1\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM metadata WHERE key LIKE 'compilation:%'"), "1\n");
}

TEST(TorchTraceDamage, ALogMayEndOrBeGarbledAnywhere) {
  const std::string log = Log();
  for (size_t i = 0; i < log.size(); ++i) {
    TraceRows cut;
    cut.source = "log";
    torch_trace::ReadLog(std::string_view(log).substr(0, i), cut);
    EXPECT_EQ(cut.issues.Count("torch_trace_truncated"), i > 0 && log[i - 1] != '\n' ? 1 : 0) << i;
    cut.Arrange();
    std::string garbled = log;
    garbled[i] = '\xff';
    TraceRows rows;
    torch_trace::ReadLog(garbled, rows);
    rows.Arrange();
  }
}

}  // namespace
}  // namespace sonde::importers

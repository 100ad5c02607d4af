// Text deliverables of a small capture: contents computed manually, headers against files of the
// real tool.
#include "exporters/ascend_text/ascend_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "exporters/registry.h"
#include "exporters/span_files.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/import_trace.h"

namespace sonde::exporters {
namespace {

using capture::RecordKind;
using importers::testing::ArgsBuilder;
using importers::testing::CaptureBuilder;
using Range = CaptureBuilder::Range;

constexpr char kConfig[] =
    R"({"common_config": {"activities": ["ProfilerActivity.CPU"], "record_shapes": true,)"
    R"( "profile_memory": true}, "experimental_config": {"_profiler_level": "Level1"}})";

// One step: a module around addmm with a helper inside, then relu; a collective with its work on
// another thread; one block of memory. Ticks are nanoseconds.
void FillCapture(CaptureBuilder& capture) {
  capture.Metadata("profiler_config", kConfig);
  capture.Metadata("rank", "1");
  capture.Metadata("world_size", "2");
  capture.Thread(1, 4242, 1, "main");
  capture.Thread(2, 4300, 0, "worker");
  const uint32_t inputs = capture.Name(capture::kKeyInputs);
  const uint32_t shapes = capture.Args(ArgsBuilder().Tensors(inputs, {{32, 8}, {8, 4}}));
  const uint32_t group = capture.Args(ArgsBuilder()
                                          .Text(capture.Name(capture::kKeyGroupName), "0")
                                          .Ints(capture.Name(capture::kKeyGroupRanks), {0, 1})
                                          .Int(capture.Name(capture::kKeyBytes), 4'000'000)
                                          .Int(capture.Name(capture::kKeyCount), 1'000'000)
                                          .Text(capture.Name(capture::kKeyDtype), "float32")
                                          .Text(capture.Name(capture::kKeyBackend), "gloo"));
  const uint32_t module =
      capture.Args(ArgsBuilder().Text(capture.Name(capture::kKeyModuleClass), "Linear"));
  const auto add = [&](uint32_t thread, RecordKind kind, uint64_t begin, uint64_t end,
                       const char* name, uint32_t args = 0, int32_t sequence = -1) {
    capture.Add(thread, Range{.kind = kind,
                              .begin = begin,
                              .end = end,
                              .name = capture.Name(name),
                              .args = args,
                              .sequence = sequence});
  };
  capture.AddMemory(1, 2'500, 0x1000, 4096, 4096);
  add(1, RecordKind::kOp, 2'100, 2'200, "aten::expand");
  add(1, RecordKind::kOp, 2'000, 52'000, "aten::addmm", shapes, 3);
  add(1, RecordKind::kModule, 1'500, 53'000, "fc1", module);
  add(1, RecordKind::kOp, 60'000, 70'570, "aten::relu", 0, 4);
  capture.AddMemory(1, 71'000, 0x1000, -4096, 0);
  add(1, RecordKind::kCollective, 72'000, 73'000, "allreduce", group);
  add(1, RecordKind::kStep, 1'000, 200'000, "ProfilerStep#7", 0, 7);
  add(2, RecordKind::kCollectiveWork, 80'000, 120'000, "gloo:all_reduce", group);
  capture.Flush(1);
  capture.Flush(2);
  capture.End(capture::StopReason::kStopped, 0);
}

class AscendText : public ::testing::Test {
 protected:
  void SetUp() override {
    CaptureBuilder capture(1'700'000'000'000'000'000);
    FillCapture(capture);
    const std::string span = folder_.File("host_4242_1_ascend_pt");
    ASSERT_TRUE(capture.Write(span).ok());
    auto sources = importers::FindTraces(span);
    ASSERT_TRUE(sources.ok());
    source_ = (*sources)[0];
    auto imported = importers::ImportTrace(source_, folder_.File("trace.duckdb"), {.threads = 1});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    Load(*imported->store);
  }

  void Load(const store::Store& store) {
    auto data = recipes::TraceData::Load(store, 1);
    ASSERT_TRUE(data.ok()) << data.status().message();
    data_ = std::make_unique<recipes::TraceData>(std::move(data).value());
    view_ = std::make_unique<recipes::DeviceView>(recipes::DeviceView::Make(*data_));
  }

  void Export(std::string_view form) {
    const ExportContext context{.view = *view_,
                                .span_folder = folder_.path(),
                                .output_folder = folder_.path(),
                                .span_name = "host_4242_1_ascend_pt",
                                .threads = 2};
    const Status status = FindExporter(form)->run(context);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::string Text(const std::string& name) const {
    const auto text = base::ReadFile(folder_.File(name));
    EXPECT_TRUE(text.ok()) << name;
    return text.value_or("");
  }

  base::TestFolder folder_;
  importers::TraceSource source_;
  std::unique_ptr<recipes::TraceData> data_;
  std::unique_ptr<recipes::DeviceView> view_;
};

TEST_F(AscendText, StepTrace) {
  Export("text");
  EXPECT_EQ(Text("step_trace_time.csv"),
            "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,"
            "Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing\r\n"
            "0,7,60.570,40.000,0.000,40.000,17.430,118.000,0.000,40.000,1.000\r\n");
}

TEST_F(AscendText, OperatorDetails) {
  Export("text");
  const std::string csv = Text("operator_details.csv");
  EXPECT_NE(csv.find("aten::addmm,\"32,8;\r\n8,4\",,49.9,50.0,49.9,50.0,0,0\r\n"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find("aten::expand,,,0.1,0.1,0.1,0.1,0,0\r\n"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("ProfilerStep"), std::string::npos);
}

TEST_F(AscendText, KernelDetails) {
  Export("text");
  const std::string csv = Text("kernel_details.csv");
  EXPECT_NE(csv.find("7,0,4294967295,0,0,aten::addmm,addmm,N/A,CPU,1700000000000002.000\t,49.900,"
                     "0,0,0,N/A,\"\"\"32,8;8,4\"\"\","),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find("7,0,4294967295,N/A,N/A,hcom_allReduce__"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",COMMUNICATION,1700000000000080.000\t,40.000,9.430,0,"), std::string::npos)
      << csv;
}

TEST_F(AscendText, Communication) {
  Export("text");
  const auto json = base::JsonDocument::Parse(Text("communication.json"), "communication.json");
  ASSERT_TRUE(json.ok());
  const base::JsonValue ops = json->root()["step7"]["collective"];
  ASSERT_EQ(ops.Size(), 2U) << "the operation and the total";
  const base::JsonValue op = ops.Members()[1].second;
  EXPECT_DOUBLE_EQ(op["Communication Time Info"]["Elapse Time(ms)"].AsDouble().value(), 0.04);
  // No transfer was measured, so there is no traffic and no link.
  EXPECT_DOUBLE_EQ(
      op["Communication Bandwidth Info"]["SDMA"]["Transit Size(MB)"].AsDouble().value(), 0.0);
  const auto matrix =
      base::JsonDocument::Parse(Text("communication_matrix.json"), "communication_matrix.json");
  ASSERT_TRUE(matrix.ok());
  EXPECT_EQ(matrix->root()["step7"]["collective"].Size(), 0U);
}

TEST_F(AscendText, Memory) {
  Export("text");
  EXPECT_NE(Text("operator_memory.csv")
                .find("aten::addmm,4.0,1700000000000002.500\t,1700000000000071.000\t,"
                      "1700000000000071.000\t,68.500\t,68.500\t,0.00390625,"),
            std::string::npos);
  const std::string record = Text("memory_record.csv");
  EXPECT_NE(record.find("PTA,1700000000000002.500\t,0.00390625,"), std::string::npos) << record;
  EXPECT_NE(record.find("PTA+GE,1700000000000071.000\t,0.0,"), std::string::npos) << record;
}

// Flows have one start and one end, layers are named, module calls are numbered.
TEST_F(AscendText, TraceView) {
  Export("text");
  const auto json = base::JsonDocument::Parse(Text("trace_view.json"), "trace_view.json");
  ASSERT_TRUE(json.ok()) << json.status().message();
  std::map<std::string, int> flows;
  std::set<std::string> processes;
  std::set<std::string> names;
  for (const base::JsonValue& event : json->root().Elements()) {
    const std::string phase = event["ph"].AsString().value();
    const std::string name = event["name"].AsString().value();
    const std::string key = base::Concat(event["cat"].AsString().value_or(""), event["id"].Dump());
    if (phase == "s") flows[key] += 1;
    if (phase == "f") flows[key] += 100;
    if (name == "process_name") processes.insert(event["args"]["name"].AsString().value());
    if (phase == "X") names.insert(name);
  }
  for (const auto& [key, ends] : flows) EXPECT_EQ(ends, 101) << key;
  EXPECT_EQ(flows.size(), 8U) << "three tasks and a collective, to npu and from host";
  EXPECT_EQ(processes, (std::set<std::string>{"Python", "CANN", "Ascend Hardware", "Communication",
                                              "Overlap Analysis"}));
  for (const char* name : {"nn.Module: Linear_0", "aten::addmm", "Computing", "Free",
                           "ProfilerStep#7", "Node@aten::relu"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(AscendText, SameBytesAgain) {
  Export("text");
  const std::string first = Text("trace_view.json");
  Export("text");
  EXPECT_EQ(Text("trace_view.json"), first);
}

TEST_F(AscendText, SameFromRowsInMemoryAndFromTheFileMadeOfThem) {
  Export("text");
  const std::string first = Text("trace_view.json");
  const std::string path = folder_.File("behind.duckdb");
  auto imported = importers::ImportUnpublished(source_, path, {.threads = 1});
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  Load(*imported->store);
  Export("text");
  EXPECT_EQ(Text("trace_view.json"), first);
  EXPECT_FALSE(base::PathExists(path));
  ASSERT_TRUE(imported->store->Publish().ok());
  imported->store.reset();
  auto reopened = store::Store::OpenReadOnly(path);
  ASSERT_TRUE(reopened.ok()) << reopened.status().message();
  Load(**reopened);
  Export("text");
  EXPECT_EQ(Text("trace_view.json"), first);
}

TEST_F(AscendText, SpanFiles) {
  const auto info = base::JsonDocument::Parse(ProfilerInfoJson(*view_), "info");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->root()["rank_id"].AsInt().value(), 1);
  EXPECT_EQ(info->root()["config"]["experimental_config"]["_profiler_level"].AsString().value(),
            "Level1");
  EXPECT_EQ(IndentJson(R"({"a":[1,{}],"b":"x, {y"})"),
            "{\n    \"a\": [\n        1,\n        {}\n    ],\n    \"b\": \"x, {y\"\n}");
}

TEST_F(AscendText, KinetoTrace) {
  Export("kineto");
  const auto entries = base::ListDirectory(folder_.path());
  std::string name;
  for (const auto& entry : *entries) {
    if (entry.name.ends_with(".pt.trace.json")) name = entry.name;
  }
  const std::string text = Text(name);
  const auto json = base::JsonDocument::Parse(text, name);
  ASSERT_TRUE(json.ok()) << json.status().message();
  // HolisticTraceAnalysis looks for this text, blank included.
  EXPECT_NE(text.find("\"rank\": 1"), std::string::npos);
  std::map<int64_t, int> correlations;
  for (const base::JsonValue& event : json->root()["traceEvents"].Elements()) {
    const std::string category = event["cat"].AsString().value_or("");
    const auto correlation = event["args"]["correlation"].AsInt();
    if (category == "kernel") correlations[correlation.value()] += 1;
    if (category == "cuda_runtime") correlations[correlation.value()] += 100;
  }
  EXPECT_EQ(correlations.size(), 4U) << "three operators and a collective";
  for (const auto& [id, uses] : correlations) EXPECT_EQ(uses, 101) << id;
}

// The first rows of our files are those of torch_npu 2.14.0.
TEST_F(AscendText, HeadersOfTheRealTool) {
  const char* folder = std::getenv("SONDE_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe)
  const std::string golden = base::JoinPath(folder != nullptr ? folder : SONDE_SHARED_DATA_DEFAULT,
                                            "golden/torch_npu-2.14.0/text_level1_rank0");
  if (!base::IsDirectory(golden)) GTEST_SKIP() << "needs data: none at " << golden;
  Export("text");
  const auto header = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  for (const char* name : {"operator_details.csv", "step_trace_time.csv", "op_statistic.csv",
                           "api_statistic.csv", "operator_memory.csv", "memory_record.csv"}) {
    EXPECT_EQ(header(Text(name)), header(base::ReadFile(base::JoinPath(golden, name)).value()))
        << name;
  }
  // Without the columns of the device's counters.
  const std::string kernel = header(Text("kernel_details.csv"));
  const std::string real =
      header(base::ReadFile(base::JoinPath(golden, "kernel_details.csv")).value());
  EXPECT_TRUE(real.starts_with(kernel.substr(0, kernel.size() - 1))) << kernel;
}

TEST(ExporterList, ListsExportersThatLeaveAProcessorIdle) {
  const Exporter& text = *FindExporter("text");
  EXPECT_FALSE(LeavesIdle(text, 1));
  EXPECT_FALSE(LeavesIdle(text, 2));
  EXPECT_TRUE(LeavesIdle(text, 3));
  const Exporter& db = *FindExporter("db");
  EXPECT_FALSE(LeavesIdle(db, 1));
  EXPECT_TRUE(LeavesIdle(db, 2));
}

}  // namespace
}  // namespace sonde::exporters

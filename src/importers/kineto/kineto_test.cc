// Kineto files made for the test: meaning of categories and arguments, and files that are damaged.
#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/import_trace.h"
#include "importers/kineto/trace.h"

namespace sonde::importers {
namespace {

// A training step on a GPU, as small as it gets; the base time comes last.
constexpr std::string_view kTrace = R"~({"schemaVersion": 1,
 "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config":
   [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 3]}]},
 "traceEvents": [
 {"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
 {"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7 "}},
 {"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":9,"tid":9,"ts":100,"dur":900},
 {"ph":"X","cat":"python_function","name":"nn.Module: Net_0","pid":9,"tid":9,"ts":105,"dur":500},
 {"ph":"X","cat":"python_function","name":"nn.Module: Linear_1","pid":9,"tid":9,"ts":108,"dur":90},
 {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":110,"dur":50.5,"args":{
   "External id":11,"Sequence number":4,"Input Dims":[[2, 3],[],[[4],[5, 6]]],
   "Input type":["float","Scalar","TensorList"],"Call stack":"a.py(1): f;\nb.py(2): g"}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":120,"dur":5,
   "args":{"External id":11,"correlation":77}},
 {"ph":"s","id":77,"pid":9,"tid":9,"ts":120,"cat":"ac2g","name":"ac2g"},
 {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":200,"dur":30,
   "args":{"External id":11,"correlation":77,"device":0,"stream":7}},
 {"ph":"f","id":77,"pid":0,"tid":7,"ts":200,"cat":"ac2g","name":"ac2g","bp":"e"},
 {"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce_RING(int)","pid":0,"tid":7,"ts":240,
   "dur":10,"args":{"External id":78,"correlation":78,"Collective name":"allreduce",
   "In msg nelems":100,"dtype":"Half","Group size":2,"Process Group Name":"0"}},
 {"ph":"i","cat":"cpu_instant_event","name":"[memory]","s":"t","pid":9,"tid":9,"ts":115,
   "args":{"Addr":4096,"Bytes":512,"Device Type":1,"Device Id":0,"Total Allocated":512}},
 {"ph":"i","cat":"cpu_instant_event","name":"[memory]","s":"t","pid":9,"tid":9,"ts":300,
   "args":{"Addr":4096,"Bytes":-512,"Device Type":1,"Device Id":0,"Total Allocated":0}}],
 "baseTimeNanoseconds": 1000000000})~";

class KinetoTest : public ::testing::Test {
 protected:
  void Import(std::string_view text) {
    const std::string path = folder_.File("w.pt.trace.json");
    std::ofstream(path, std::ios::binary) << text;
    const auto sources = FindTraces(path);
    ASSERT_TRUE(sources.ok() && sources->size() == 1U);
    EXPECT_EQ(*(*sources)[0].importer->rank(path), 3);
    auto imported = ImportTrace((*sources)[0], folder_.File("s.duckdb"), {.threads = 1});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    store_ = std::move(imported->store);
  }

  std::string Rows(const std::string& columns_and_rest) {
    const auto result = store_->Query("SELECT concat_ws(' ', " + columns_and_rest);
    EXPECT_TRUE(result.ok()) << result.status().message();
    std::string text;
    for (size_t row = 0; result.ok() && row < result->rows(); ++row) {
      text += result->Text(0, row) + "\n";
    }
    return text;
  }

  base::TestFolder folder_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(KinetoTest, FillsTheTablesOfOurOwnTraces) {
  Import(kTrace);
  EXPECT_EQ(Rows("name, ts, dur) FROM slice WHERE name = 'aten::mm'"),
            "aten::mm 1000110000 50500\n");
  EXPECT_EQ(Rows("scope, sequence_number, input_shapes, input_types, module) FROM framework_op "
                 "JOIN slice s USING (slice_id) WHERE s.name = 'aten::mm'"),
            "0 4 2,3;; float;Scalar;TensorList Net_0.Linear_1\n");
  EXPECT_EQ(Rows("depth, frame) FROM callstack ORDER BY depth"), "0 a.py(1): f\n1 b.py(2): g\n");
  EXPECT_EQ(
      Rows("t.name, t.op_type, t.core, t.wait_ns, t.connection_id, t.step_id, s.name) "
           "FROM device_task t LEFT JOIN slice s ON s.slice_id = launch_slice_id ORDER BY t.ts"),
      "gemm mm GPU 0 77 5 aten::mm\n"
      "ncclKernel_AllReduce_RING(int) ncclKernel_AllReduce_RING COMMUNICATION 10000 78 5\n");
  EXPECT_EQ(Rows("op_type, data_type, count, size_bytes, rank_size, group_name) "
                 "FROM communication_op"),
            "allreduce Half 100 200 2 0\n");
  EXPECT_EQ(Rows("name, description, rank_list) FROM communication_group"), "0 default_pg [0,3]\n");
  EXPECT_EQ(Rows("f.kind, f.key, a.name, b.name) FROM flow f JOIN slice a ON a.slice_id = "
                 "slice_out JOIN slice b ON b.slice_id = slice_in"),
            "host_to_device 77 cudaLaunchKernel gemm\n");
  EXPECT_EQ(Rows("size_bytes, alloc_ts, free_ts, s.name) FROM memory_block JOIN slice s ON "
                 "s.slice_id = owner_slice_id"),
            "512 1000115000 1000300000 aten::mm\n");
  EXPECT_EQ(Rows("step_id, rank, dur) FROM step"), "5 3 900000\n");
  EXPECT_EQ(Rows("kind, device_id, stream_id) FROM track WHERE device_id = 0"), "stream 0 7\n");
}

// Files without arrows between the passes have the numbers of the framework.
TEST_F(KinetoTest, BackwardOperatorsFollowTheirForwardByNumber) {
  std::string events;
  const auto add = [&](std::string_view name, int tid, int ts, int dur, int sequence) {
    events += base::Concat(R"({"ph":"X","cat":"cpu_op","name":")", name, R"(","pid":9,"tid":)",
                           std::to_string(tid), R"(,"ts":)", std::to_string(ts), R"(,"dur":)",
                           std::to_string(dur), R"(,"args":{"Sequence number":)",
                           std::to_string(sequence), "}},");
  };
  add("aten::linear", 9, 200, 20, 4);
  add("aten::addmm", 9, 205, 10, 4);
  add("autograd::engine::evaluate_function: AddmmBackward0", 10, 300, 50, 4);
  add("AddmmBackward0", 10, 310, 30, 4);
  add("SumBackward1", 10, 360, 10, 5);  // its forward operator was not recorded
  add("aten::addmm", 9, 400, 10, 4);    // of a later pass
  Import(base::ReplaceAll(kTrace, R"("traceEvents": [)", R"("traceEvents": [)" + events));
  EXPECT_EQ(Rows("f.key, a.name, a.ts, b.name) FROM flow f JOIN slice a ON a.slice_id = slice_out "
                 "JOIN slice b ON b.slice_id = slice_in WHERE f.kind = 'forward_backward'"),
            "4 aten::addmm 1000205000 AddmmBackward0\n");
}

// NCCL before 2.20 carries out an all-to-all, a send and a receive by kernels of one name.
TEST_F(KinetoTest, WhatSendRecvIsTheCallOfTheHostSays) {
  std::string events;
  int number = 0;
  for (const char* call : {"c10d::alltoall_base_", "nccl:all_to_all", "nccl:send 3->2",
                           "nccl:recv 3<-2", "nccl:coalesced", "aten::mm"}) {
    const std::string id = std::to_string(80 + number);
    const std::string ts = std::to_string(100 + 50 * number);
    ++number;
    events += base::Concat(
        R"({"ph":"X","cat":"cpu_op","name":")", call, R"(","pid":9,"tid":9,"ts":)", ts,
        R"(,"dur":20,"args":{"External id":1)", id, R"(}},{"ph":"X","cat":"cuda_runtime",)",
        R"("name":"cudaLaunchKernel","pid":9,"tid":9,"ts":)", ts,
        R"(,"dur":5,"args":{"correlation":)", id, R"(}},{"ph":"X","cat":"kernel","name":)",
        R"("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t","pid":0,"tid":7,"ts":)", ts,
        R"(0,"dur":30,"args":{"External id":)", id, R"(,"correlation":)", id,
        R"(,"device":0,"stream":7}},)");
  }
  events.pop_back();
  Import(base::Concat(R"({"schemaVersion":1,"distributedInfo":{"rank":3,"world_size":4},)",
                      R"("traceEvents":[)", events, "]}"));
  EXPECT_EQ(Rows("op_type, is_p2p) FROM communication_op ORDER BY ts"),
            "alltoall 0\nalltoall 0\nsend 1\nreceive 1\ncoalesced 1\nsendrecv 1\n");
}

// Two ranks whose processes are plain numbers: it is unknown which of them launched the work.
TEST_F(KinetoTest, IdsOfSeveralProcessesAreAmbiguous) {
  Import(R"~({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "traceEvents": [
 {"ph":"X","cat":"cpu_op","name":"aten::a","pid":100,"tid":1,"ts":10,"dur":5,"args":{
   "External id":1}},
 {"ph":"X","cat":"cpu_op","name":"aten::b","pid":200,"tid":1,"ts":10,"dur":5,"args":{
   "External id":1}},
 {"ph":"X","cat":"cpu_op","name":"aten::c","pid":200,"tid":1,"ts":20,"dur":5,"args":{
   "External id":2}},
 {"ph":"X","cat":"kernel","name":"k1","pid":0,"tid":7,"ts":30,"dur":5,"args":{
   "External id":1,"correlation":5,"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"k2","pid":0,"tid":7,"ts":40,"dur":5,"args":{
   "External id":2,"correlation":6,"device":0,"stream":7}}]})~");
  EXPECT_EQ(Rows("t.name, s.name) FROM device_task t LEFT JOIN slice s ON s.slice_id = "
                 "launch_slice_id ORDER BY t.ts"),
            "k1\nk2 aten::c\n");
  EXPECT_EQ(Rows("code, count) FROM import_issue"), "trace_launch_ambiguous 1\n");
}

constexpr std::string_view kLate = R"~({"distributedInfo":{"rank":3},"traceEvents":[
 {"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":9,"tid":9,"ts":100,"dur":100},
 {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":110,"dur":9,
   "args":{"External id":11}},
 {"ph":"X","cat":"cuda_runtime","name":"LAUNCH","pid":9,"tid":9,"ts":112,"dur":5,
   "args":{"External id":11,"correlation":77}},
 {"ph":"X","cat":"kernel","name":"before","pid":0,"tid":7,"ts":120,"dur":60,
   "args":{"correlation":5,"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"own","pid":0,"tid":7,"ts":190,"dur":30,
   "args":{"External id":11,"correlation":77,"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"behind","pid":0,"tid":7,"ts":195,"dur":2,
   "args":{"correlation":6,"device":0,"stream":7}}]})~";

// A device that works behind its host is busy with the step before when recording begins.
TEST_F(KinetoTest, WorkLaunchedBeforeTheRecordingIsOfNoStep) {
  const auto steps = [&](const std::string& call) {
    Import(base::ReplaceAll(kLate, "LAUNCH", call));
    return Rows("name, coalesce(step_id, -1)) FROM device_task ORDER BY ts");
  };
  EXPECT_EQ(steps("cudaLaunchKernel"), "before -1\nown 5\nbehind 5\n");
  EXPECT_EQ(steps("hipGraphLaunch"), "before 5\nown 5\nbehind 5\n") << "a graph's have no call";
}

constexpr std::string_view kGraph = R"~({"distributedInfo":{"rank":3},"traceEvents":[
 {"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":9,"tid":9,"ts":112,"dur":5,
   "args":{"correlation":77}},
 {"ph":"s","id":78,"pid":9,"tid":9,"ts":120,"cat":"ac2g","name":"ac2g"},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":120,"dur":5,
   "args":{"correlation":78}},
 {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":190,"dur":30,
   "args":{"correlation":77,"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":230,"dur":2,
   "args":{"correlation":77,"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7,"ts":240,"dur":2,
   "args":{"correlation":78,"device":0,"stream":7}},
 {"ph":"f","id":78,"pid":0,"tid":7,"ts":240,"cat":"ac2g","name":"ac2g","bp":"e"},
 {"ph":"X","cat":"kernel","name":"d","pid":0,"tid":7,"ts":250,"dur":2,
   "args":{"correlation":1,"device":0,"stream":7}}]})~";

// By correlation, where the file has no arrow; no second one where it has.
TEST_F(KinetoTest, CallsOfWorkAreKnownWithoutArrows) {
  Import(kGraph);
  EXPECT_EQ(Rows("k.name, c.name, f.key) FROM flow f JOIN slice c ON c.slice_id = slice_out "
                 "JOIN slice k ON k.slice_id = slice_in WHERE f.kind = 'host_to_device' "
                 "ORDER BY k.ts"),
            "a cudaGraphLaunch 77\nb cudaGraphLaunch 77\nc cudaLaunchKernel 78\n");
}

constexpr std::string_view kLost = R"~({"distributedInfo":{"rank":3},"traceEvents":[
 {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":110,"dur":9},
 {"ph":"X","cat":"cuda_runtime","name":"CALL","pid":9,"tid":9,"ts":112,"dur":5,
   "args":{"correlation":77}}]})~";

TEST_F(KinetoTest, TheHostIsNoStandInForADeviceThatWasNotRecorded) {
  Import(base::ReplaceAll(kLost, "CALL", "cudaLaunchKernel"));
  EXPECT_EQ(Rows("count(*)) FROM device_task"), "0\n");
  EXPECT_EQ(Rows("code, count) FROM import_issue"), "device_not_recorded 1\n");
  Import(base::ReplaceAll(kLost, "CALL", "cudaGetDeviceCount"));
  EXPECT_EQ(Rows("name, core) FROM device_task"), "aten::mm CPU\n") << "no work was asked for";
}

constexpr std::string_view kAsked = R"~({"distributedInfo":{"rank":3},"traceEvents":[
 {"ph":"X","cat":"cpu_op","name":"OPERATOR","pid":9,"tid":9,"ts":100,"dur":90},
 {"ph":"X","cat":"user_annotation","name":"RANGE","pid":9,"tid":9,"ts":110,"dur":50},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":112,"dur":5,
   "args":{"correlation":77}},
 {"ph":"X","cat":"kernel","name":"KERNEL","pid":0,"tid":7,"ts":190,"dur":30,
   "args":{"correlation":77,"device":0,"stream":7}}]})~";

// The call of the host says more than the kernel's name: NCCL sends an all-to-all by SendRecv.
TEST_F(KinetoTest, WhatTheHostAskedForIsTheTypeOfACollective) {
  const auto type = [&](const std::string& op, const std::string& range,
                        const std::string& kernel) {
    std::string text = base::ReplaceAll(kAsked, "OPERATOR", op);
    text = base::ReplaceAll(text, "RANGE", range);
    Import(base::ReplaceAll(text, "KERNEL", kernel));
    return Rows(
        "t.core, c.op_type) FROM device_task t LEFT JOIN communication_op c USING (slice_id)");
  };
  const std::string send_receive = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t";
  EXPECT_EQ(type("c10d::alltoall_base_", "nccl:all_to_all", send_receive),
            "COMMUNICATION alltoall\n");
  EXPECT_EQ(type("c10d::alltoall_base_", "mine", send_receive), "COMMUNICATION alltoall\n");
  EXPECT_EQ(type("mine", "mine", send_receive), "COMMUNICATION sendrecv\n");
  EXPECT_EQ(type("_C_custom_ar::all_reduce", "mine", "secret_kernel"), "COMMUNICATION allreduce\n");
  EXPECT_EQ(type("c10d::allgather_", "mine", "CatArrayBatchedCopy"), "GPU\n")
      << "not all that a collective launches communicates";
  EXPECT_EQ(type("aten::mm", "ncclish", "gemm"), "GPU\n");
}

TEST_F(KinetoTest, TypesAreThoseOfOperatorsNotOfCompiledRegions) {
  const auto type = [&](const std::string& op) {
    Import(base::ReplaceAll(kLate, "aten::mm", op));
    return Rows("op_type) FROM device_task WHERE name = 'own'");
  };
  EXPECT_EQ(type("aten::mm"), "mm\n");
  EXPECT_EQ(type("Torch-Compiled Region: 0/0"), "own\n");
  EXPECT_EQ(type("CompiledFunctionBackward"), "own\n");
  EXPECT_EQ(type("record_param_comms"), "own\n");
  EXPECT_EQ(type("AddmmBackward0"), "AddmmBackward0\n");
}

// What an uneven all-to-all keeps; lists that do not fit say nothing.
TEST_F(KinetoTest, SplitsSayWhatStays) {
  const auto kept = [&](std::string_view splits, std::string_view ranks) {
    Import(base::Concat(
        R"~({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "traceEvents": [
 {"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv()","pid":0,"tid":7,"ts":30,"dur":5,
  "args":{"device":0,"stream":7,"Collective name":"all_to_allv","In msg nelems":50,
   "dtype":"UInt16","Group size":3,"Process Group Name":"0","In split size":")~",
        splits, R"~(","Process Group Ranks":")~", ranks, R"~("}}]})~"));
    return Rows("size_bytes, coalesce(kept_bytes, -1)) FROM communication_op");
  };
  EXPECT_EQ(kept("[10, 15, 25]", "[0, 3, 9]"), "100 30\n");
  EXPECT_EQ(kept("[10, 15, 24]", "[0, 3, 9]"), "100 -1\n") << "another sum";
  EXPECT_EQ(kept("[]", "[0, 3, 9]"), "100 -1\n") << "even";
  EXPECT_EQ(kept("[10, 15, 25]", "[0, 6, 9]"), "100 -1\n") << "not of this group";
  EXPECT_EQ(kept("[10, -15, 55]", "[0, 3, 9]"), "100 -1\n");
  EXPECT_EQ(kept("[50]", "[0, 3, 9]"), "100 -1\n") << "too few";
}

// Labels are names only: the work's own arguments count, and devices without any are unknown.
TEST_F(KinetoTest, DevicesAreThoseOfTheWorksArguments) {
  Import(R"~({"schemaVersion": 1, "distributedInfo": {"rank": 3},
 "deviceProperties": [{"id": 2, "name": "NVIDIA H100"}], "traceEvents": [
 {"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 2"}},
 {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":9,"ts":30,"dur":5,"args":{
   "device":2,"stream":7}},
 {"ph":"X","cat":"kernel","name":"b","pid":4242,"tid":1,"ts":40,"dur":5,"args":{}}]})~");
  EXPECT_EQ(Rows("t.name, coalesce(t.device_id, -1), t.stream_id, k.name, p.name) FROM "
                 "device_task t JOIN track k USING (track_id) JOIN process p ON p.process_id = "
                 "k.process_id ORDER BY t.ts"),
            "a 2 7 Stream 7 GPU 2, NVIDIA H100\nb -1 1 Stream 1 4242\n");
}

// Reads and links, without a store.
void ReadDamaged(const std::string& path, std::string_view text, bool& complete) {
  std::ofstream(path, std::ios::binary) << text;
  const kineto::KinetoDialect dialect;
  trace_events::EventStage stage(nullptr, dialect, {.threads = 1});
  const Status status = stage.Read(path);
  complete = status.ok() && stage.issues().empty();
  if (!status.ok()) {
    EXPECT_FALSE(status.message().empty());
    return;
  }
  ASSERT_TRUE(stage.Arrange(0).ok());
  const kineto::KinetoTrace trace(stage);
  EXPECT_LE(trace.device_work().size(), 2U);
}

// As Sonde writes them: beside an operator that is the range, by itself, and as a moment.
TEST_F(KinetoTest, RangesAndMomentsOfTheUserAreReadBack) {
  Import(R"~({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "traceEvents": [
 {"ph":"X","cat":"user_annotation","name":"both","pid":9,"tid":9,"ts":1,"dur":9,
  "args":{"External id":1,"event_type":"push_pop","domain":"Module"}},
 {"ph":"X","cat":"user_annotation","name":"range","pid":9,"tid":9,"ts":5,"dur":90,
  "args":{"event_type":"start_end","domain":"default"}},
 {"ph":"X","cat":"user_annotation","name":"annotation","pid":9,"tid":9,"ts":20,"dur":5},
 {"ph":"i","s":"t","cat":"Module","name":"moment","pid":9,"tid":9,"ts":30}]})~");
  EXPECT_EQ(Rows("message, kind, domain, dur, slice_id >= 0) FROM mark ORDER BY ts"),
            "both push_pop Module 9000 true\nrange start_end default 90000 true\n"
            "moment marker Module 0\n");
  EXPECT_EQ(Rows("s.name, t.kind) FROM framework_op JOIN slice s USING (slice_id) JOIN track t "
                 "USING (track_id) ORDER BY s.ts"),
            "both thread\nannotation thread\n");
}

TEST_F(KinetoTest, CutOffAnywhereIsReported) {
  const std::string path = folder_.File("cut.json");
  for (size_t size = 0; size < kTrace.size(); ++size) {
    bool complete = false;
    ReadDamaged(path, kTrace.substr(0, size), complete);
    EXPECT_FALSE(complete) << size;
  }
}

// PyTorch writes an empty text for an operator that no Python code has called.
TEST_F(KinetoTest, AStackWithoutFramesIsNone) {
  Import(R"~({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "traceEvents": [
 {"ph":"X","cat":"cpu_op","name":"aten::a","pid":9,"tid":9,"ts":10,"dur":5,"args":{
   "External id":1,"Call stack":""}},
 {"ph":"X","cat":"cpu_op","name":"aten::b","pid":9,"tid":9,"ts":20,"dur":5,"args":{
   "External id":2,"Call stack":"b.py(2): g"}}]})~");
  EXPECT_EQ(Rows("name) FROM framework_op JOIN slice USING (slice_id) WHERE stack_id IS NULL"),
            "aten::a\n");
  EXPECT_EQ(Rows("name, frame) FROM framework_op JOIN slice USING (slice_id) JOIN callstack "
                 "USING (stack_id)"),
            "aten::b b.py(2): g\n");
}

TEST_F(KinetoTest, TakesGarbledBytes) {
  const std::string path = folder_.File("garbled.json");
  constexpr std::string_view kBytes("\0\"{}\\9\xff", 7);
  for (size_t place = 0; place < kTrace.size(); ++place) {
    std::string text(kTrace);
    text[place] = kBytes[place % kBytes.size()];
    bool complete = false;
    ReadDamaged(path, text, complete);
  }
}

}  // namespace
}  // namespace sonde::importers

// The framework's raw records: their meaning, and files that are cut off or garbled.
#include "importers/ascend_raw/framework.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace sonde::importers::raw {
namespace {

template <class... Numbers>
std::string BytesOf(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)), ...);
  return bytes;
}

std::string Frame(uint16_t type, const std::string& value) {
  return BytesOf(type, static_cast<uint32_t>(value.size())) + value;
}

constexpr uint64_t kPid = 70;
constexpr uint64_t kMain = 71;
constexpr uint64_t kAutograd = 72;
constexpr uint64_t kQueue = 73;

struct RecordedOp {
  uint64_t begin;
  uint64_t end;
  const char* name;
  uint64_t tid = kMain;
  int64_t sequence = -1;
  uint64_t forward_thread = 0;
};

std::string FrameworkRange(const RecordedOp& op) {
  const auto scope = static_cast<uint8_t>(op.forward_thread > 0 ? 1 : 0);
  return Frame(1, BytesOf(op.begin, op.end, op.sequence, kPid, op.tid, op.tid, op.forward_thread,
                          scope, uint8_t{0}) +
                      Frame(2, op.name) + Frame(3, "float") + Frame(4, "2,3") +
                      Frame(8, "a.py(1): f;b.py(2): g"));
}

std::string Mark(uint64_t time, OpMark::Kind kind, uint64_t correlation, uint64_t tid) {
  return Frame(
      2, BytesOf(time, static_cast<uint64_t>(kind), correlation, tid, kPid) + Frame(1, "aclnnAdd"));
}

std::string Use(uint64_t time, int64_t size, uint8_t kind, uint64_t tid) {
  return Frame(
      3, BytesOf(int64_t{4096}, time, size, int64_t{1000}, int64_t{2000}, int64_t{1500}, int64_t{5},
                 int8_t{20}, int8_t{0}, uint8_t{0}, kind, uint8_t{0}, tid, kPid));
}

std::string Call(uint64_t time, uint64_t key, uint8_t kind) {
  return BytesOf(time, kMain, kPid, key, kind);
}

// One clock tick is a hundred nanoseconds here.
constexpr Clock kClock{.start_ticks = 1000,
                       .start_ns = 500,
                       .kilohertz = 10'000,
                       .wall = 1'700'000'000'000'000'000,
                       .is_known = true};
constexpr int64_t kWall = 1'700'000'000'000'000'000;

int64_t WallNs(int64_t ticks) { return kWall + 500 + (ticks - 1000) * 100; }

std::string Ops() {
  return FrameworkRange({1110, 1130, "aten::empty"}) +
         FrameworkRange({1100, 1200, "aten::add", kMain, 7}) +
         FrameworkRange({1300, 1350, "AddBackward0", kAutograd, 7, 3}) +
         FrameworkRange({1050, 1400, "ProfilerStep#5"});
}

std::string Marks() {
  return Mark(1140, OpMark::kEnqueueBegin, 0, kMain) + Mark(1150, OpMark::kEnqueueEnd, 9, kMain) +
         Mark(1160, OpMark::kDequeueBegin, 9, kQueue) + Mark(1190, OpMark::kDequeueEnd, 9, kQueue);
}

std::string Uses() {
  return Use(1120, 512, MemoryUse::kMalloc, kMain) + Use(1500, -512, MemoryUse::kBlockFree, kMain) +
         Use(1510, -512, MemoryUse::kFree, kMain) + Use(1600, 256, MemoryUse::kMalloc, kQueue);
}

std::string Calls() {
  return Call(1010, 1, PythonCall::kReturn) + Call(1020, 1, PythonCall::kCall) +
         Call(1030, 2, PythonCall::kCall) + Call(1040, 2, PythonCall::kReturn) +
         Call(1045, 3, PythonCall::kCCall);
}

std::string Names() {
  return Frame(4, BytesOf(uint64_t{1}) + Frame(1, "a.py(1): f")) +
         Frame(4, BytesOf(uint64_t{2}) + Frame(1, "Linear######140"));
}

std::vector<std::pair<std::string, std::string>> SpanFiles() {
  return {
      {"torch.memory_usage", Uses()},
      {"torch.op_mark", Marks()},
      {"torch.op_range", Ops()},
      {"torch.python_tracer_func", Calls()},
      {"torch.python_tracer_hash", Names()},
  };
}

class FrameworkTest : public ::testing::Test {
 protected:
  // With other bytes in place of the content of one of the files.
  void Read(std::string_view other_file = {}, std::string_view bytes = {}) {
    for (const auto& [name, content] : SpanFiles()) {
      const bool is_other = name == other_file;
      EXPECT_TRUE(layer_.Read({name, is_other ? bytes : content, rows_.issues}, kClock));
    }
    layer_.Finish();
  }

  const store::SliceRow& Slice(std::string_view name) {
    for (const store::SliceRow& slice : rows_.slices) {
      if (rows_.names.Text(slice.name) == name) return slice;
    }
    ADD_FAILURE() << "no slice " << name;
    return rows_.slices.front();
  }
  std::string_view SliceName(int32_t slice) {
    if (slice < 0) return "";
    return rows_.names.Text(rows_.slices[static_cast<size_t>(slice)].name);
  }

  TraceRows rows_;
  FrameworkLayer layer_{rows_};
};

TEST_F(FrameworkTest, OperatorsHaveTheirTimesStacksAndThreads) {
  Read();
  EXPECT_EQ(Slice("aten::add").ts, WallNs(1100));
  EXPECT_EQ(Slice("aten::add").dur, 10'000);
  EXPECT_EQ(rows_.callstacks.size(), 2U) << "the same stack is kept once";
  EXPECT_EQ(rows_.names.Text(rows_.signatures[0].input_shapes), "2,3");
  ASSERT_EQ(rows_.steps.size(), 1U);
  EXPECT_EQ(rows_.steps[0].step_id, 5);
  const store::FrameworkOpRow& backward = rows_.ops[2];
  ASSERT_GE(backward.forward_thread_id, 0);
  const store::ThreadRow& thread = rows_.threads[static_cast<size_t>(backward.forward_thread_id)];
  EXPECT_EQ(thread.tid, 71);
  EXPECT_EQ(thread.framework_number, 3);
}

TEST_F(FrameworkTest, ArrowsLeadFromOperatorsOverTheQueue) {
  Read();
  ASSERT_EQ(rows_.flows.size(), 2U);
  EXPECT_EQ(SliceName(rows_.flows[0].slice_out), "Enqueue@aclnnAdd");
  EXPECT_EQ(SliceName(rows_.flows[0].slice_in), "Dequeue@aclnnAdd");
  EXPECT_EQ(SliceName(rows_.flows[1].slice_out), "aten::add");
  EXPECT_EQ(SliceName(rows_.flows[1].slice_in), "AddBackward0");
  EXPECT_EQ(SliceName(layer_.OperatorAt(73, WallNs(1170))), "aten::add");
  EXPECT_EQ(SliceName(layer_.OperatorAt(73, WallNs(1195))), "") << "no entry is open";
  EXPECT_EQ(SliceName(layer_.OperatorAt(71, WallNs(1120))), "aten::empty");
}

TEST_F(FrameworkTest, ABlockHasBothItsReleases) {
  Read();
  ASSERT_EQ(rows_.memory_blocks.size(), 2U);
  const store::MemoryBlockRow& block = rows_.memory_blocks[0];
  EXPECT_EQ(rows_.names.Text(block.name), "aten::empty");
  EXPECT_EQ(block.size_bytes, 512);
  EXPECT_EQ(block.free_ts, WallNs(1510));
  EXPECT_EQ(block.active_free_ts, WallNs(1500));
  EXPECT_EQ(rows_.memory_blocks[1].free_ts, -1);
  ASSERT_EQ(rows_.memory_events.size(), 4U);
  EXPECT_EQ(rows_.memory_events[1].size_bytes, 0) << "counted when it was freed";
}

TEST_F(FrameworkTest, PythonCallsNestAndMissingOnesAreCounted) {
  Read();
  EXPECT_EQ(Slice("a.py(1): f").dur, 2500) << "it never returned: to the last record";
  EXPECT_EQ(Slice("nn.Module: Linear_0").dur, 1000);
  EXPECT_EQ(Slice("3").dur, 0);
  EXPECT_EQ(rows_.issues.Count("raw_return_without_call"), 1);
  EXPECT_EQ(rows_.issues.Count("raw_unknown_hash"), 1);
}

TEST_F(FrameworkTest, AQueueEntryWithOneEndIsCounted) {
  Read("torch.op_mark",
       Mark(1140, OpMark::kEnqueueBegin, 0, kMain) + Mark(1190, OpMark::kDequeueEnd, 9, kQueue));
  EXPECT_EQ(rows_.issues.Count("raw_queue_unpaired"), 2);
}

TEST(FrameworkDamage, CutOffAtEveryByte) {
  for (const auto& [name, content] : SpanFiles()) {
    for (size_t size = 0; size <= content.size(); ++size) {
      TraceRows rows;
      FrameworkLayer layer(rows);
      ASSERT_TRUE(layer.Read({name, std::string_view(content).substr(0, size), rows.issues}, {}));
      layer.Finish();
      rows.Arrange();
      const bool is_frames = name != "torch.python_tracer_func";
      bool at_end = size % 33 == 0;
      if (is_frames) {  // the end of a frame: as long as the frames before it
        size_t end = 0;
        while (end < size) {
          uint32_t length = 0;
          std::copy_n(content.data() + end + 2, 4, reinterpret_cast<char*>(&length));
          end += 6 + length;
        }
        at_end = end == size;
      }
      EXPECT_EQ(rows.issues.Count("raw_truncated"), at_end ? 0 : 1) << name << " " << size;
    }
  }
}

TEST(FrameworkDamage, GarbledBytesEndNothing) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    TraceRows rows;
    FrameworkLayer layer(rows);
    for (const auto& [name, content] : SpanFiles()) {
      std::string bytes = content;
      for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      layer.Read({name, bytes, rows.issues}, kClock);
    }
    layer.Finish();
    rows.Arrange();
    EXPECT_LE(rows.slices.size(), 9U) << "no more than was recorded";
    EXPECT_LE(rows.memory_blocks.size(), 4U);
  }
}

TEST(FrameworkDamage, FramesOfAnotherKindAreCounted) {
  TraceRows rows;
  FrameworkLayer layer(rows);
  layer.Read({"torch.op_range", Uses(), rows.issues}, kClock);
  EXPECT_EQ(rows.issues.Count("raw_bad_record"), 4);
  EXPECT_TRUE(rows.slices.empty());
}

TEST(ClockTest, TicksBecomeTimeExactly) {
  EXPECT_EQ(kClock.FromTicks(1001), kWall + 600);
  EXPECT_EQ(kClock.FromTicks(0), kWall + 500 - 100'000) << "before the start, too";
  // A day at 38.4 MHz: a double would be off.
  Clock clock{
      .start_ticks = 0, .start_ns = 0, .kilohertz = 38'400, .wall = kWall, .is_known = true};
  EXPECT_EQ(clock.FromTicks(3'317'760'000'001), kWall + 86'400'000'000'026);
  clock.kilohertz = 0;
  EXPECT_EQ(clock.FromTicks(5), kWall + 5);
  EXPECT_EQ(clock.FromTicks(UINT64_MAX), -1);
  EXPECT_EQ(Clock{}.FromTicks(77), 77) << "unknown: as it was";
}

TEST(ClockTest, Frequencies) {
  EXPECT_EQ(KilohertzOf("100.000000"), 100'000);
  EXPECT_EQ(KilohertzOf("38.4"), 38'400);
  EXPECT_EQ(KilohertzOf("1000"), 1'000'000);
  EXPECT_EQ(KilohertzOf(""), 0);
  EXPECT_EQ(KilohertzOf("-3"), 0);
  EXPECT_EQ(LogValue("[Host]\ncntvct: 17\nx:y\n", "cntvct"), 17);
  EXPECT_EQ(LogValue("x:y\n", "x"), std::nullopt);
}

}  // namespace
}  // namespace sonde::importers::raw

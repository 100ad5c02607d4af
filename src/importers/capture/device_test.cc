// Damaged device files of captures: the rest of the capture is imported with any content of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/test_folder.h"
#include "capture/device_format.h"
#include "importers/capture/device_file.h"
#include "importers/capture/testing/import_fixture.h"

namespace sonde::importers::testing {
namespace {

using capture::DeviceChunkHeader;
using capture::DeviceNameHead;
using capture::DeviceRecord;
using capture::DeviceRecordKind;
using capture::DeviceVendor;
using capture::RecordKind;

constexpr int64_t kStartNs = 1'700'000'000'000'000'000;

template <class T>
std::string Bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Header() {
  capture::FileHeader header = {};
  header.magic = capture::kDeviceMagic;
  header.version = capture::kFormatVersion;
  header.file_number = 1;
  header.header_crc = base::Crc32c(&header, offsetof(capture::FileHeader, header_crc));
  return Bytes(header);
}

std::string Name(uint32_t id, std::string text) {
  const DeviceNameHead head = {id, static_cast<uint32_t>(text.size())};
  text.resize((text.size() + 7) / 8 * 8);
  return Bytes(head) + text;
}

std::string Chunk(const std::string& names, const std::vector<DeviceRecord>& records,
                  uint64_t lost = 0, DeviceVendor vendor = DeviceVendor::kAscend) {
  std::string payload = names;
  for (const DeviceRecord& record : records) payload += Bytes(record);
  DeviceChunkHeader header = {};
  header.magic = capture::kDeviceChunkMagic;
  header.name_bytes = static_cast<uint32_t>(names.size());
  header.record_count = static_cast<uint32_t>(records.size());
  header.payload_crc = base::Crc32c(payload);
  header.lost = lost;
  header.vendor = vendor;
  header.header_crc = base::Crc32c(&header, offsetof(DeviceChunkHeader, header_crc));
  return Bytes(header) + payload;
}

DeviceRecord Kernel(int64_t start, int64_t end, uint64_t correlation, uint32_t name = 1) {
  DeviceRecord record = {};
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kKernel);
  record.stream = 7;
  record.name = name;
  record.start_ns = kStartNs + start;
  record.end_ns = kStartNs + end;
  record.correlation = correlation;
  return record;
}

DeviceRecord Call(uint32_t tid, int64_t start, int64_t end, uint64_t correlation) {
  DeviceRecord record = Kernel(start, end, correlation, 2);
  record.kind = static_cast<uint16_t>(DeviceRecordKind::kApi);
  record.stream = tid;
  return record;
}

class DeviceFiles : public CaptureImportTest {
 protected:
  // One thread with an operator from 100 to 900, and this device file.
  void ImportWith(const std::string& device) {
    CaptureBuilder capture(kStartNs);
    capture.ClockSample(0, 0, kStartNs);
    capture.ClockSample(1'000'000, 1'000'000, kStartNs + 1'000'000);
    capture.Thread(0, 4242, 1, "main");
    capture.Add(0, {.kind = RecordKind::kCollective,
                    .begin = 400,
                    .end = 500,
                    .name = capture.Name("c10d::allreduce_"),
                    .args = capture.Args(ArgsBuilder()
                                             .Text(capture.Name(capture::kKeyGroupName), "tp")
                                             .Int(capture.Name(capture::kKeyBytes), 4096))});
    capture.Add(0, {.begin = 100, .end = 900, .name = capture.Name("aten::mm")});
    capture.Flush(0);
    capture.End(capture::StopReason::kStopped, 0);
    ASSERT_TRUE(capture.Write(folder_).ok());
    ASSERT_TRUE(base::WriteFileAtomically(folder_ + "/SONDE/device_000001.sonde", device).ok());
    ImportWritten();
  }
  std::string Tasks() {
    return Rows(
        "SELECT d.name, d.ts - 1700000000000000000, d.dur, wait_ns, launch.name FROM device_task d "
        "LEFT JOIN slice launch ON launch.slice_id = launch_slice_id ORDER BY d.ts");
  }
};

TEST_F(DeviceFiles, JoinTheOpenRangeOnTheThreadOfTheCall) {
  ImportWith(Header() +
             Chunk(Name(1, "Mul") + Name(2, "aclnnMul"),
                   {Call(4242, 200, 300, 1), Kernel(1000, 1500, 1), Call(4242, 950, 960, 2),
                    Kernel(1700, 1800, 2), Call(99, 200, 300, 3), Kernel(1800, 1900, 3)}));
  EXPECT_EQ(Tasks(), "Mul 1000 500 0 aten::mm\nMul 1700 100 200 -\nMul 1800 100 0 -\n");
  EXPECT_EQ(Issue("device_task_unjoined"), 2);
  EXPECT_EQ(Rows("SELECT count(*) FROM flow WHERE kind = 'host_to_device'"), "3\n");
}

TEST_F(DeviceFiles, OverlappingTasksHaveLanes) {
  ImportWith(Header() + Chunk(Name(1, "Mul"), {Kernel(1000, 1500, 0), Kernel(1200, 1300, 0),
                                               Kernel(1500, 1600, 0)}));
  EXPECT_EQ(Rows("SELECT s.depth, s.ts - 1700000000000000000 FROM slice s JOIN track USING "
                 "(track_id) WHERE track.kind = 'stream' ORDER BY slice_id"),
            "0 1000\n0 1500\n1 1200\n");
}

TEST_F(DeviceFiles, CallsThatDoNotNestAreCutAndCounted) {
  ImportWith(Header() +
             Chunk(Name(1, "Mul") + Name(2, "aclnnMul"),
                   {Call(4242, 200, 300, 1), Call(4242, 250, 350, 2), Call(4242, 260, 280, 3)}));
  EXPECT_EQ(Issue("device_call_cut"), 1);
  EXPECT_EQ(Rows("SELECT s.depth, s.ts - 1700000000000000000, s.dur FROM slice s JOIN track USING "
                 "(track_id) WHERE track.kind = 'api' ORDER BY s.ts"),
            "0 200 100\n1 250 50\n2 260 20\n");
}

TEST_F(DeviceFiles, LostAndImpossibleRecordsAreCounted) {
  DeviceRecord unknown = Kernel(1, 2, 0);
  unknown.kind = 77;
  ImportWith(Header() + Chunk(Name(1, "Mul"),
                              {Kernel(1000, 900, 0), unknown, Kernel(5, 6, 0, 9), Kernel(7, 8, 0)},
                              12));
  EXPECT_EQ(Issue("device_times_impossible"), 1);
  EXPECT_EQ(Issue("record_unknown"), 1);
  EXPECT_EQ(Issue("record_unknown_id"), 1);
  EXPECT_EQ(Issue("records_dropped"), 12);
  EXPECT_EQ(Tasks(), "? 5 1 0 -\nMul 7 1 1 -\n");
}

TEST_F(DeviceFiles, OfNvidiaHaveTheTypesOfTheirOperators) {
  DeviceRecord copy = Kernel(1600, 1650, 3, 4);
  copy.kind = static_cast<uint16_t>(DeviceRecordKind::kMemcpy);
  ImportWith(Header() + Chunk(Name(1, "void gemm<1>(int)") + Name(2, "cudaLaunchKernel") +
                                  Name(3, "cuLaunchKernel") + Name(4, "Memcpy DtoD"),
                              {Call(4242, 200, 300, 1), Kernel(1000, 1500, 1),
                               Kernel(1700, 1800, 9), Call(4242, 310, 320, 3), copy},
                              0, DeviceVendor::kNvidia));
  EXPECT_EQ(Rows("SELECT name, op_type, task_type, core FROM device_task ORDER BY ts"),
            "void gemm<1>(int) mm KERNEL GPU\nMemcpy DtoD mm MEMCPY -\n"
            "void gemm<1>(int) gemm KERNEL GPU\n");
  EXPECT_EQ(
      Rows("SELECT DISTINCT category FROM slice JOIN device_task USING (slice_id) ORDER BY 1"),
      "gpu_memcpy\nkernel\n");
  EXPECT_EQ(Rows("SELECT DISTINCT name FROM track WHERE kind = 'api'"), "Thread 4242 CUDA\n");
}

TEST_F(DeviceFiles, OfNvidiaCommunicateWithTheFactsOfTheCall) {
  const std::string kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";
  ImportWith(Header() +
             Chunk(Name(1, kernel) + Name(2, "cudaLaunchKernelExC"),
                   {Call(4242, 420, 430, 1), Kernel(1000, 1500, 1), Kernel(1700, 1800, 9)}, 0,
                   DeviceVendor::kNvidia));
  EXPECT_EQ(Rows("SELECT core FROM device_task ORDER BY ts"), "COMMUNICATION\nCOMMUNICATION\n");
  EXPECT_EQ(Rows("SELECT op_type, ts - 1700000000000000000, dur, group_name, size_bytes FROM "
                 "communication_op ORDER BY ts"),
            "allreduce 1000 500 tp 4096\nallreduce 1700 100 - -\n");
}

// The records in these bytes, and the number of bad pieces.
struct ReadBack {
  size_t records;
  size_t issues;
};
ReadBack Read(const std::string& bytes) {
  const base::TestFolder folder;
  EXPECT_TRUE(base::WriteFileAtomically(folder.File("device"), bytes).ok());
  capture_import::Dictionary dictionary;
  store::ImportIssues issues;
  const auto read = capture_import::ReadDeviceFiles({folder.File("device")}, dictionary, issues);
  EXPECT_TRUE(read.ok());
  return {read.ok() ? read->records.size() : 0, issues.list().size()};
}

TEST(DeviceFile, CutAnywhereKeepsWholeChunks) {
  const std::string first = Header() + Chunk(Name(1, "Mul"), {Kernel(1000, 1500, 0)});
  const std::string whole = first + Chunk("", {Kernel(1600, 1700, 0)});
  for (size_t size = 0; size <= whole.size(); ++size) {
    const ReadBack back = Read(whole.substr(0, size));
    const bool ends_with_piece =
        size == sizeof(capture::FileHeader) || size == first.size() || size == whole.size();
    EXPECT_EQ(back.issues, ends_with_piece ? 0U : 1U) << size;
    EXPECT_EQ(back.records, size == whole.size() ? 2U : size >= first.size() ? 1U : 0U) << size;
  }
}

TEST(DeviceFile, GarbledAnywhereIsCounted) {
  const std::string whole = Header() + Chunk(Name(1, "Mul"), {Kernel(1000, 1500, 0)}) +
                            Chunk(Name(2, "Add"), {Kernel(1600, 1700, 0, 2)});
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string garbled = whole;
    garbled[at] = static_cast<char>(garbled[at] ^ 0x5a);
    const ReadBack back = Read(garbled);
    EXPECT_GE(back.issues, 1U) << at;
    EXPECT_LE(back.records, 1U + (at >= sizeof(capture::FileHeader) ? 1U : 0U)) << at;
  }
}

}  // namespace
}  // namespace sonde::importers::testing

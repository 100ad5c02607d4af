// Raw records that are damaged: each kind of file cut off at every byte, and each byte changed.
// Nothing may crash, cut records are counted, and the data of other files is imported.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/ascend_raw/import.h"
#include "importers/ascend_raw/planted_records.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::planted {
namespace {

using base::Concat;

struct Kind {
  std::string_view part;  // "host", "device_0"
  std::string name;
  std::string bytes;
  size_t record = 0;  // of which size; 0: text, or of any
};

// In every folder: a call, the task that it launched, and its run on the device.
std::vector<Kind> Base(const Setting& setting) {
  const std::string track =
      Record(uint16_t{0}, uint16_t{7}, uint32_t{3}, uint64_t{200}, uint64_t{0}).Of(40);
  const std::string basic = Record(uint64_t{1}, uint32_t{0}).Of(12) +
                            Record(uint64_t{2}, uint32_t{24}, uint32_t{1}).Of(16);
  return {
      {"host", "unaging.api_event.data",
       Api(15000, 1, 50, 400, 3) + Api(10000, 5, 100, 200, 1) + Api(5500, 65537, 120, 180, 1), 40},
      {"host", "unaging.compact.task_track", Compact(5000, 150, track), 64},
      {"host", "unaging.compact.node_basic_info", Compact(10000, 110, basic), 64},
      {"host", "unaging.additional.hash_dic", "1:Op\n2:Type\n", 0},
      {"host", "unaging.additional.type_info_dic",
       "10000_5:launch\n15000_1:ModelExecute\n5500_65537:master\n5000_200:KERNEL_AICORE\n", 0},
      {"device_0", setting.is_hwts() ? "hwts.data" : "stars_soc.data",
       Log(setting, 0, 2000) + Log(setting, 1, 3000), setting.is_v6() ? size_t{32} : size_t{64}},
  };
}

std::string AiCpu(uint32_t type, const std::string& data) {
  return Additional(6000, 2100, data, type);
}

// A line of /proc/<pid>/stat.
constexpr std::string_view kOfProcess =
    "7 (a b) S 1 1 1 1 1 1 1 1 1 1 9 9 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 3 1\n";

// Each other kind of file of the host, with a record or two.
std::vector<Kind> HostKinds() {
  const std::string tensor =
      Record(uint32_t{0}, uint32_t{2}, uint32_t{1}, uint32_t{4}, uint32_t{8}).Of(44);
  const std::string captured = Numbers(7, 1) + Record(uint32_t{1}, uint32_t{1}).Of(8) + tensor;
  const std::string variable = HostRecord(10000, 0, 60, captured, 24 + captured.size());
  return {
      {"host", "unaging.compact.node_attr_info",
       Compact(10000, 110, Record(uint64_t{1}, uint32_t{0}).Of(12) + Numbers(1, 2)), 64},
      {"host", "unaging.compact.hccl_op_info", Compact(10000, 110, Numbers(4, 1)), 64},
      {"host", "unaging.compact.memcpy_info", Compact(5000, 150, Numbers(3, 64)), 64},
      {"host", "unaging.compact.capture_stream_info", Compact(5000, 90, Numbers(2, 0)), 64},
      {"host", "unaging.compact.expand_stream_spec", Compact(5000, 90, ""), 64},
      {"host", "unaging.additional.tensor_info",
       Additional(10000, 110, Record(uint64_t{1}, uint32_t{1}).Of(12) + tensor), 256},
      {"host", "unaging.additional.context_id_info", Additional(10000, 110, Numbers(3, 1)), 256},
      {"host", "unaging.additional.hccl_info", Additional(5500, 130, Numbers(14, 1)), 256},
      {"host", "unaging.additional.graph_id_map", Additional(15000, 60, Numbers(2, 1)), 256},
      {"host", "unaging.additional.fusion_op_info",
       Additional(15000, 60, Record(uint64_t{1}, uint32_t{2}).Of(12) + Numbers(7, 1)), 256},
      {"host", "unaging.additional.static_op_mem", Additional(10000, 110, Numbers(7, 1)), 256},
      {"host", "unaging.additional.task_memory_info",
       Additional(10000, 110, Numbers(6, 64)) + Additional(10000, 120, Numbers(6, 64)), 256},
      {"host", "unaging.additional.mc2_comm_info", Additional(10000, 90, Numbers(8, 1)), 256},
      {"host", "unaging.additional.capture_op_info", Additional(10000, 60, captured), 256},
      {"host", "unaging.variable.capture_op_info", variable + variable, 0},
      {"host", "unaging.additional.msproftx", Additional(20500, 160, Numbers(9, 0) + "text"), 256},
      {"host", "unaging.additional.model_exeom", Additional(15000, 60, Numbers(2, 1)), 256},
      {"host", "unaging.additional.logic_stream_info",
       Additional(15000, 60, Record(uint32_t{3}, uint32_t{2}, uint32_t{7}, uint32_t{8}).Of(16)),
       256},
      {"host", "unaging.additional.Multi_Thread",
       Additional(10000, 60, Record(uint32_t{1}, uint32_t{12}).Of(8)), 256},
      {"host", "unaging.compact.dpu_track", Compact(4000, 160, Numbers(3, 100)), 64},
      {"host", "unaging.additional.dpu_hccl_info", Additional(4000, 900, Numbers(14, 1)), 256},
      {"host", "unaging.additional.ccu_task_info", Additional(5500, 130, Numbers(6, 1)), 256},
      {"host", "unaging.additional.ccu_group_info", Additional(5500, 130, Numbers(19, 1)), 256},
      {"host", "unaging.additional.ccu_wait_signal_info", Additional(5500, 130, Numbers(19, 1)),
       256},
      {"host", "host_cpu.data",
       Concat("time 1000\n10.0 0\n", kOfProcess, "time 2000\n11.0 0\n", kOfProcess), 0},
      {"host", "host_mem.data", "1000 9 8 7\n2000 9 8 7\n", 0},
      {"host", "host_disk.data",
       "start_time 1000\nTIME PID\n1 2 be/4 root 1.5 K/s 2.5 M/s 0.0 % 3.0 % x\n", 0},
      {"host", "host_network.data",
       "time 1000\neth0: 1 2 3 4 5 6 7 8 9 1\ntime 2000\neth0: 2 2 3 4 5 6 7 8 10 1\n", 0},
      {"host", "host_syscall.data", " 1.5 ( 0.1 ms): a/7 x(1) = 0\n 2.5 ( 0.1 ms): y(1) = 0\n", 0},
      {"host", "host_pthreadcall.data", "[pid 7] 1.5 l->x(1) = 0 <0.1>\n", 0},
      {"host", "host_sys_cpu.data",
       "TimeStamp:1000\ncpu 1 2 3 4 5 6 7 8 9 10\n\nTimeStamp:2000\ncpu 2 2 3 5 5 6 7 8 9 10\n", 0},
      {"host", "7-CpuUsage.data", Concat("TimeStamp:1000\n", kOfProcess, "cpu 1 2 3\n\n"), 0},
      {"host", "7-Memory.data", "TimeStamp:1000\nProcessName:x\n1 2 3 4 5 6 7\n\n", 0},
      {"host", "aging.compact.node_basic_info", Compact(10000, 110, Numbers(4, 1)), 64},
      {"host", "aging.additional.tensor_info",
       Additional(10000, 110, Record(uint64_t{1}, uint32_t{1}).Of(12) + tensor), 256},
  };
}

// Those of a device.
std::vector<Kind> DeviceKinds() {
  const std::string profile =
      Record(uint16_t{0b011010}, kStars, uint32_t{0}, uint64_t{2500}).Of(64) +
      Record(uint16_t{0b011011}, kStars, uint32_t{0}, uint64_t{2600}).Of(64);
  const std::string places = Record(uint16_t{7}, uint16_t{3}, uint32_t{0}).Of(8);
  std::string aicpu =
      AiCpu(0, places + Numbers(12, 2100)) + AiCpu(1, "push") + AiCpu(3, Numbers(4, 2100));
  aicpu += AiCpu(4, Numbers(8, 2100)) + AiCpu(5, Numbers(4, 2100)) + AiCpu(10, Numbers(5, 1));
  aicpu += AiCpu(11, places) + AiCpu(12, places) + AiCpu(13, Numbers(29, 1));
  const std::string lpm =
      Record(uint32_t{1}, uint32_t{1}, uint64_t{2500}, uint32_t{800}, uint32_t{0}).Of(888);
  return {
      {"device_0", "stars_soc_profile.data", profile, 64},
      {"device_0", "ts_track.data",
       Record(uint8_t{0}, uint8_t{14}, uint16_t{0}, uint32_t{0}, uint64_t{2500}).Of(40) +
           Record(uint8_t{0}, uint8_t{10}, uint16_t{0}, uint32_t{0}, uint64_t{2500}).Of(40),
       40},
      {"device_0", "ffts_profile.data",
       Record(uint16_t{0b101000}, uint16_t{0}, uint16_t{7}, uint16_t{3}).Of(32) + Numbers(12, 2490),
       128},
      {"device_0", "lpmFreqConv.data", lpm, 888},
      {"device_0", "lpmInfoConv.data", lpm, 888},
      {"device_0", "aicpu.data", aicpu, 256},
      {"device_0", "DATA_PREPROCESS.AICPU",
       Record(kMark, uint16_t{60}, uint16_t{7}, uint16_t{3}).Of(8) + Numbers(15, 2100), 128},
      {"device_0", "DATA_PREPROCESS.DP",
       Record(kMark, uint16_t{100}, uint32_t{0}, uint64_t{2500}).Of(16) + Numbers(14, 65), 128},
      {"device_0", "l2_cache.data", places + Numbers(8, 1), 72},
      {"device_0", "socpmu.data", Numbers(1, 0) + places + Numbers(8, 1), 80},
      {"device_0", "hbm.data", Numbers(6, 1), 24},
      {"device_0", "ddr.data", Numbers(5, 1), 20},
      {"device_0", "llc.data", Numbers(6, 1), 24},
      {"device_0", "npu_mem.app", Numbers(8, 1), 32},
      {"device_0", "npu_mem.data", Numbers(8, 1), 32},
      {"device_0", "npu_module_mem.data", Numbers(6, 1), 24},
      {"device_0", "qos.data", Numbers(8, 1), 64},
      {"device_0", "pcie.data", Numbers(12, 1), 96},
      {"device_0", "Memory.data", "TimeStamp:1000\nMemFree: 5 kB\nHugePages_Total: 3\n\n", 0},
      {"device_0", "dvpp.data", "1000 0 VDEC 0 1 2 3% 4 5 6% 7 8\n", 0},
      {"device_0", "hccs.data", "timestamp tx rx\n1 2 3\n4 5 6\n", 0},
      {"device_0", "nic.data", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", 0},
      {"device_0", "roce.data", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", 0},
      {"device_0", "netdev_stats.data",
       "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n2 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", 0},
  };
}

// Of chips before STARS: counters of each kind of cores, a second log, rates of the cache.
std::vector<Kind> KindsBeforeStars() {
  const std::string counters = Record(uint32_t{0}, uint16_t{0}, uint16_t{3}).Of(16) +
                               Numbers(10, 100) + Record(uint32_t{7}).Of(32);
  const std::string cache = Record(uint16_t{0}, uint16_t{7}, uint16_t{3}, uint16_t{0}).Of(8);
  return {
      {"device_0", "hwts.aiv_data", Log({.chip = 4}, 0, 4000) + Log({.chip = 4}, 1, 5000), 64},
      {"device_0", "ts_track.aiv_data",
       Record(uint8_t{0}, uint8_t{14}, uint16_t{0}, uint32_t{0}, uint64_t{2500}).Of(40), 40},
      {"device_0", "aicore.data", counters + counters, 128},
      {"device_0", "aiVectorCore.data", counters, 128},
      {"device_0", "l2_cache.data", cache + Numbers(8, 1), 72},
      {"device_0", "ddr.data", Numbers(5, 1), 20},
  };
}

// Of newer chips: records of other sizes, with numbers that are the tasks' own.
std::vector<Kind> KindsOfNewerChips() {
  std::string profile;
  for (uint16_t function = 0b011001; function <= 0b011101; ++function) {
    profile += Record(function, kStars, uint32_t{0}, uint64_t{2500}).Of(16) + Numbers(6, 1);
  }
  const std::string counters =
      Record(uint16_t{0b101010}, uint16_t{0}, uint32_t{3}, uint64_t{900}, uint8_t{0}, uint8_t{1})
          .Of(32) +
      Numbers(10, 1) + Record(uint64_t{2100}, uint64_t{2900}).Of(16);
  return {
      {"device_0", "stars_soc_profile.data", profile, 64},
      {"device_0", "ffts_profile.data", counters, 128},
      {"device_0", "ts_track.data",
       Record(uint8_t{0}, uint8_t{10}, uint16_t{0}, uint32_t{0}, uint64_t{2500}).Of(40), 40},
      {"device_0", "socpmu.data",
       Record(uint32_t{0}, uint16_t{0}, uint16_t{2}, uint16_t{0}, uint16_t{7}, uint32_t{3}).Of(16) +
           Numbers(8, 1),
       80},
      {"device_0", "ub.data", Numbers(16, 1), 128},
      {"device_0", "stars_block.data",
       Log({.chip = 15}, 0b100100, 2100) + Log({.chip = 15}, 0b100101, 2200), 32},
      {"device_0", "ccu0.instr", Numbers(8, 1), 64},
      {"device_0", "instr.biu_perf_group0_aic",
       Record(0xE0010834U, 0xE0000000U, 0xE0000000U, 0xE0000000U, 0xF0050009U, 0xF0000009U).Of(24),
       4},
      {"device_0", "ccu1.stat",
       Record(uint64_t{2100}, uint32_t{5}, uint32_t{4}, uint32_t{6}).Of(2816), 2816},
      {"device_0", "aicpu.data", AiCpu(0, Numbers(15, 2100)) + AiCpu(4, Numbers(10, 2100)), 256},
  };
}

// Of the newer form of samples.
std::vector<Kind> KindsOfVersion2() {
  return {{"device_0", "hbm.data", Numbers(8, 1), 32},
          {"device_0", "npu_mem.app", Numbers(8, 1), 32},
          {"device_0", "llc.data", Numbers(6, 1), 24}};
}

// Samples of cores in place of counters of tasks.
std::vector<Kind> KindsOfSampledCores(const Setting& setting) {
  const size_t size = setting.is_v6() ? 112 : 96;
  const std::string samples = Numbers(size / 8, 1) + Numbers(size / 8, 5);
  if (!setting.is_hwts()) return {{"device_0", "ffts_profile.data", samples, size}};
  return {{"device_0", "aicore.data", samples, size},
          {"device_0", "aiVectorCore.data", samples, size}};
}

std::vector<Kind> Others(const Setting& setting) {
  if (setting.is_sampled) return KindsOfSampledCores(setting);
  if (setting.is_hwts()) return KindsBeforeStars();
  if (setting.is_v6()) return KindsOfNewerChips();
  if (setting.version != "1.0") return KindsOfVersion2();
  std::vector<Kind> kinds = HostKinds();
  const std::vector<Kind> of_device = DeviceKinds();
  kinds.insert(kinds.end(), of_device.begin(), of_device.end());
  return kinds;
}

constexpr std::string_view kSample =
    R"(","ai_core_metrics":"PipeUtilization","ai_core_profiling_events":"0x8,0xa,0x9,0xb",)"
    R"("aiv_metrics":"PipeUtilization","aiv_profiling_events":"0x8,0xa","llc_profiling":"read",)"
    R"("l2CacheTaskProfilingEvents":"0xF6,0xFB,0xFC,0xBF,0x90,0x91,0x9C,0x9D",)"
    R"("npuEvents":"SMMU:0x2,0x8a,0x8b,0x8c,0x8d","qosEvents":"OTHERS,SDMA"})";

class RawDamageTest : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    const std::string chip = Concat(R"("platform_version":")", std::to_string(GetParam().chip),
                                    R"(","version":")", GetParam().version, R"(",)");
    Put("host", "info.json",
        Concat("{", chip,
               R"("pid":"42","CPU":[{"Frequency":"100.0"}],"memoryTotal":9,"cpuNums":2,)",
               R"("sysClockFreq":100,"netCard":[{"netCardName":"eth0","speed":1000}]})"));
    Put("host", "start_info",
        R"({"collectionTimeBegin":"1700000000000000","clockMonotonicRaw":"1000"})");
    Put("host", "host_start.log", "[Host]\nclock_monotonic_raw: 1000\ncntvct: 0\n");
    Put("device_0", "info.json.0",
        Concat("{", chip, R"("DeviceInfo":[{"hwts_frequency":"50",)",
               R"("aic_frequency":"1650","ai_core_num":24,"aiv_num":48}]})"));
    Put("device_0", "start_info.0",
        R"({"collectionTimeBegin":"1700000000000000","clockMonotonicRaw":"1000"})");
    Put("device_0", "host_start.log.0", "[Host]\nclock_monotonic_raw: 1000\ncntvct: 0\n");
    Put("device_0", "dev_start.log.0", "[Device]\nclock_monotonic_raw: 7\ncntvct: 0\n");
    Put("device_0", "sample.json",
        Concat(R"({"ai_core_profiling_mode":")",
               GetParam().is_sampled ? "sample-based" : "task-based", kSample));
    Put("host", "sample.json", R"({"host_disk_freq":50})");
    for (const Kind& kind : Base(GetParam())) PutSlice(kind, kind.bytes);
  }

  void Put(std::string_view part, std::string_view name, std::string_view text) {
    const std::string path = base::JoinPath(prof_, Concat(part, "/", name));
    ASSERT_TRUE(base::MakeDirectories(std::string(base::DirName(path))).ok());
    ASSERT_TRUE(base::WriteFileAtomically(path, text).ok());
  }
  void PutSlice(const Kind& kind, std::string_view bytes) {
    const std::string_view device = kind.part == "host" ? "" : ".0";
    const std::string name = Concat("data/", kind.name, device, ".slice_0");
    const std::string path = base::JoinPath(prof_, Concat(kind.part, "/", name));
    if (!base::PathExists(path)) Put(kind.part, name + ".done", "");
    // Thousands of times: not flushed to the disk, as a file that is cut to nothing and closed is.
    ASSERT_EQ(std::remove(path.c_str()) == 0 || errno == ENOENT, true);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void Remove(const Kind& kind) {
    const std::string_view device = kind.part == "host" ? "" : ".0";
    const std::string path =
        base::JoinPath(prof_, Concat(kind.part, "/data/", kind.name, device, ".slice_0"));
    ASSERT_TRUE(base::RemoveTree(path).ok());
    ASSERT_TRUE(base::RemoveTree(path + ".done").ok());
  }

  struct Found {
    size_t tasks = 0;
    size_t named = 0;  // of them those that are the call's
    int64_t cut = 0;   // issues of cut files
    int64_t unread = 0;
    int64_t bad = 0;
  };
  Found Read() {
    TraceRows rows(folder_.path());
    ReadAscendRaw(prof_, rows);
    rows.Arrange();
    Found found{.tasks = rows.tasks.size()};
    for (const store::DeviceTaskRow& task : rows.tasks) {
      const int32_t name = rows.kinds[static_cast<size_t>(task.kind_id)].name;
      found.named += name >= 0 && rows.names.Text(name) == "Op" ? 1 : 0;
    }
    for (const std::string_view code : {"raw_part_of_record", "raw_truncated"}) {
      found.cut += rows.issues.Count(code);
    }
    found.unread = rows.issues.Count("files_not_read");
    found.bad = rows.issues.Count("raw_bad_record");
    return found;
  }

  base::TestFolder folder_;
  std::string prof_ = folder_.File("PROF_000001_20231114221320000_0004200ABCDEFGHA");
};

TEST_P(RawDamageTest, WholeFolder) {
  const Found base = Read();
  EXPECT_EQ(base.tasks, 1U);
  EXPECT_EQ(base.named, 1U);
  EXPECT_EQ(base.cut, 0);
  for (const Kind& kind : Others(GetParam())) {
    PutSlice(kind, kind.bytes);
    EXPECT_EQ(Read().unread, 0) << kind.name;
  }
  EXPECT_GE(Read().tasks, 1U);
}

// The next byte to damage: all of them, but under a sanitizer, by which each of thousands of reads
// takes ten times as long. There every 11th behind the first ones, elsewhere in each record.
size_t NextByte(size_t at) {
#if defined(__SANITIZE_ADDRESS__)
  return at + (at < 32 ? 1 : 11);
#else
  return at + 1;
#endif
}

// A file that only adds to the others' task leaves it as it is.
TEST_P(RawDamageTest, EveryOtherFileCutOffAtEveryByte) {
  for (const Kind& kind : Others(GetParam())) {
    for (size_t size = 0; size < kind.bytes.size(); size = NextByte(size)) {
      PutSlice(kind, std::string_view(kind.bytes).substr(0, size));
      const Found found = Read();
      ASSERT_GE(found.tasks, 1U) << kind.name << " " << size;
      if (kind.record == 0) continue;
      ASSERT_EQ(found.cut > 0, size % kind.record != 0) << kind.name << " " << size;
    }
    Remove(kind);
  }
}

TEST_P(RawDamageTest, EveryOtherFileGarbled) {
  for (const Kind& kind : Others(GetParam())) {
    for (size_t i = 0; i < kind.bytes.size(); i = NextByte(i)) {
      std::string garbled = kind.bytes;
      garbled[i] = static_cast<char>(garbled[i] ^ 0xFF);
      PutSlice(kind, garbled);
      ASSERT_GE(Read().tasks, 1U) << kind.name << " " << i;
    }
    PutSlice(kind, std::string(kind.bytes.size(), '\xFF'));
    ASSERT_GE(Read().tasks, 1U) << kind.name;
    Remove(kind);
  }
}

// Of records that all begin with one number, each with another one is counted and left out.
TEST_P(RawDamageTest, EveryOtherFileOfAnotherMagic) {
  for (const Kind& kind : Others(GetParam())) {
    if (!kind.bytes.starts_with("ZZ") || kind.record == 0) continue;
    std::string other = kind.bytes;
    for (size_t at = 0; at < other.size(); at += kind.record) other[at] = 'Y';
    PutSlice(kind, other);
    const Found found = Read();
    EXPECT_GE(found.tasks, 1U) << kind.name;
    EXPECT_EQ(found.bad, static_cast<int64_t>(other.size() / kind.record)) << kind.name;
    Remove(kind);
  }
}

// The later record first, the later line first: the data of the task is the same.
TEST_P(RawDamageTest, EveryOtherFileBackwards) {
  for (const Kind& kind : Others(GetParam())) {
    std::string backwards;
    const std::vector<std::string_view> lines = base::Split(kind.bytes, '\n');
    for (size_t i = lines.size(); kind.record == 0 && i > 0; --i) {
      backwards += Concat(lines[i - 1], "\n");
    }
    for (size_t at = kind.bytes.size(); kind.record != 0 && at >= kind.record; at -= kind.record) {
      backwards += kind.bytes.substr(at - kind.record, kind.record);
    }
    PutSlice(kind, backwards);
    const Found found = Read();
    EXPECT_GE(found.tasks, 1U) << kind.name;
    EXPECT_EQ(found.unread, 0) << kind.name;
    Remove(kind);
  }
}

TEST_P(RawDamageTest, FilesOfTheTaskItselfDamaged) {
  for (const Kind& kind : Base(GetParam())) {
    for (size_t i = 0; i < kind.bytes.size(); i = NextByte(i)) {
      PutSlice(kind, std::string_view(kind.bytes).substr(0, i));
      const Found found = Read();
      ASSERT_LE(found.tasks, 1U) << kind.name << " " << i;
      if (kind.record != 0) {
        ASSERT_EQ(found.cut > 0, i % kind.record != 0) << kind.name << " " << i;
      }
      std::string garbled = kind.bytes;
      garbled[i] = static_cast<char>(garbled[i] ^ 0xFF);
      PutSlice(kind, garbled);
      ASSERT_LE(Read().tasks, 1U) << kind.name << " " << i;
    }
    PutSlice(kind, kind.bytes);
    ASSERT_EQ(Read().named, 1U) << kind.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, RawDamageTest,
    ::testing::Values(Setting{.chip = 5}, Setting{.chip = 4}, Setting{.chip = 15},
                      Setting{.chip = 5, .version = "2.0"}, Setting{.chip = 5, .is_sampled = true},
                      Setting{.chip = 15, .is_sampled = true}),
    [](const auto& of) {
      return Concat("Chip", std::to_string(of.param.chip), of.param.is_sampled ? "Sampled" : "",
                    of.param.version == "1.0" ? "" : "Version2");
    });

}  // namespace
}  // namespace sonde::importers::planted

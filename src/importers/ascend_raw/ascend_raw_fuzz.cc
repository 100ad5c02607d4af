// Fuzz target of raw records. Behind a byte that chooses the chip (two bits) and whether cores are
// sampled (a third), pieces of a kind (u8), a length (u16) and so many bytes are the files of a
// folder.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend_raw/device_part.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/host_usage.h"
#include "importers/ascend_raw/os_calls.h"
#include "importers/ascend_raw/system_usage.h"

namespace {

using namespace sonde;             // NOLINT(google-build-using-namespace): one file
using namespace sonde::importers;  // NOLINT(google-build-using-namespace)

// A stream of one slice, whose file is in memory.
class MemoryStream {
 public:
  MemoryStream(std::string_view name, std::string_view bytes)
      : descriptor_(::memfd_create("slice", 0)) {
    const bool is_whole =
        ::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    stream.name = name;
    if (!is_whole) return;
    stream.slices.push_back(
        {.file = {"/proc/self/fd/" + std::to_string(descriptor_), "f"}, .is_closed = true});
  }
  ~MemoryStream() { ::close(descriptor_); }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  raw::Stream stream;

 private:
  int descriptor_;
};

constexpr std::array<std::string_view, 83> kFiles = {
    "torch.op_range",
    "torch.op_mark",
    "torch.memory_usage",
    "torch.python_tracer_func",
    "torch.python_tracer_hash",
    "torch.gc_record",
    "unaging.api_event.data",
    "unaging.compact.task_track",
    "unaging.compact.node_basic_info",
    "aging.compact.node_basic_info",
    "unaging.compact.hccl_op_info",
    "unaging.compact.memcpy_info",
    "unaging.compact.expand_stream_spec",
    "unaging.additional.hash_dic",
    "unaging.additional.type_info_dic",
    "unaging.additional.tensor_info",
    "unaging.additional.context_id_info",
    "unaging.additional.hccl_info",
    "stars_soc.data",
    "ts_track.data",
    "ffts_profile.data",
    "lpmFreqConv.data",
    "hbm.data",
    "npu_mem.app",
    "npu_module_mem.data",
    "pcie.data",
    "hccs.data",
    "nic.data",
    "roce.data",
    "unaging.additional.msproftx",
    "stars_soc_profile.data",
    "qos.data",
    "llc.data",
    "ddr.data",
    "unaging.compact.node_attr_info",
    "unaging.compact.capture_stream_info",
    "unaging.additional.capture_op_info",
    "unaging.variable.capture_op_info",
    "unaging.additional.graph_id_map",
    "unaging.additional.model_exeom",
    "unaging.additional.fusion_op_info",
    "unaging.additional.static_op_mem",
    "unaging.additional.task_memory_info",
    "unaging.additional.mc2_comm_info",
    "npu_mem.data",
    "aicpu.data",
    "DATA_PREPROCESS.AICPU",
    "l2_cache.data",
    "socpmu.data",
    "netdev_stats.data",
    "ub.data",
    "lpmInfoConv.data",
    "aging.additional.tensor_info",
    "hwts.data",
    "hwts.aiv_data",
    "aicore.data",
    "aiVectorCore.data",
    "unaging.additional.logic_stream_info",
    "unaging.additional.Multi_Thread",
    "DATA_PREPROCESS.DP",
    "unaging.compact.dpu_track",
    "unaging.additional.dpu_hccl_info",
    "unaging.additional.ccu_task_info",
    "unaging.additional.ccu_group_info",
    "unaging.additional.ccu_wait_signal_info",
    "stars_block.data",
    "ccu0.instr",
    "ccu1.stat",
    "dvpp.data",
    "ts_track.aiv_data",
    "SystemCpuUsage.data",
    "Memory.data",
    "7-CpuUsage.data",
    "7-Memory.data",
    "host_sys_cpu.data",
    "host_sys_mem.data",
    "host_cpu.data",
    "host_mem.data",
    "host_disk.data",
    "host_network.data",
    "host_syscall.data",
    "host_pthreadcall.data",
    "instr.biu_perf_group0_aic",
};
constexpr std::array<int64_t, 4> kChips = {5, 15, 4, 1};

std::string MakeDeviceFolder(std::string_view mode) {
  std::string path = "/tmp/ascend_raw_fuzz_XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) std::abort();
  const auto write = [&](std::string_view name, std::string_view text) {
    if (!base::WriteFileAtomically(base::JoinPath(path, name), text).ok()) std::abort();
  };
  write("info.json.0",
        R"({"platform_version":"5","DeviceInfo":[{"hwts_frequency":"50","aic_frequency":"1650",)"
        R"("ai_core_num":24,"aiv_num":48}]})");
  write("info.json", R"({"memoryTotal":9,"cpuNums":2,"sysClockFreq":100,)"
                     R"("netCard":[{"netCardName":"eth0","speed":1000}]})");
  write("host_start.log.0", "clock_monotonic_raw: 5000\ncntvct: 100\n");
  write("dev_start.log.0", "clock_monotonic_raw: 77\ncntvct: 900\n");
  write("sample.json",
        base::Concat(
            R"({"ai_core_profiling_mode":")", mode,
            R"(","ai_core_metrics":"PipeUtilization","ai_core_profiling_events":"0x8,0xa,0x9,0xb",)"
            R"("aiv_metrics":"Memory","aiv_profiling_events":"0x15,0x16","llc_profiling":"read",)"
            R"("l2CacheTaskProfilingEvents":"0xF6,0xFB,0xFC,0xBF,0x90,0x91,0x9C,0x9D",)"
            R"("npuEvents":"SMMU:0x2,0x8a,0x8b,0x8c,0x8d;HA:0x00,0x81,0x82,0x83,0x74,0x75",)"
            R"("qosEvents":"OTHERS,SDMA","host_disk_freq":50})"));
  return path;
}

// Folders of a device with known clocks and counters, made once.
const std::string& DeviceFolder(bool is_sampled) {
  static const std::string of_tasks = MakeDeviceFolder("task-based");
  static const std::string of_cores = MakeDeviceFolder("sample-based");
  return is_sampled ? of_cores : of_tasks;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  TraceRows rows;
  const raw::Clock clock{.start_ticks = 1000,
                         .start_ns = 5'000'000,
                         .kilohertz = 38'400,
                         .wall = 1'700'000'000'000'000'000,
                         .began_ns = 1'700'000'000'005'000'000,
                         .is_known = true};
  base::ByteReader reader(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto setting = reader.Read<uint8_t>();
  const raw::Chip chip{kChips.at(setting % kChips.size())};
  raw::FrameworkLayer framework(rows);
  raw::HostLayer host(rows, clock, chip.is_v6());
  raw::HostFacts facts(rows, clock);
  raw::Marks marks(rows, clock);
  raw::ProfPart part;
  part.folder = DeviceFolder((setting & 4U) != 0);
  part.relative = "device_0";
  part.device = 0;
  raw::DevicePart device(rows, clock, chip, part, clock, 7);
  raw::HostUsage usage(rows, clock, part.folder, 7);
  raw::OsCalls calls(rows, clock, 7);
  raw::SystemUsage system(
      rows, [&clock](int64_t ns) { return clock.FromMonotonic(ns); }, store::kNone, 7);
  while (reader.ok() && reader.remaining() > 0) {
    const std::string_view name = kFiles.at(reader.Read<uint8_t>() % kFiles.size());
    const auto length = reader.Read<uint16_t>();
    const std::string_view bytes = reader.ReadText(std::min<size_t>(length, reader.remaining()));
    if (framework.Read({name, bytes, rows.issues}, clock)) continue;
    const MemoryStream file(name, bytes);
    if (host.Read(file.stream) || marks.Read(file.stream) || facts.Read(file.stream)) continue;
    if (name.starts_with("host_") &&
        (usage.Read(file.stream) || calls.Read(file.stream) || system.Read(file.stream))) {
      continue;
    }
    device.Read(file.stream, host.expands_streams());
  }
  framework.Finish();
  host.Build(7);
  marks.Build(host.dictionary());
  facts.Build(host, 7);
  raw::DeviceTables tables(rows, host, framework, 7);
  device.Build(host, facts, marks, tables);
  tables.Finish();
  rows.Arrange();
  return 0;
}

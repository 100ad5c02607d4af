// `sonde doctor`: clock, save path, other profilers and devices of this machine.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/clock.h"
#include "base/count_of.h"
#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "cli/doctor.h"
#include "cli/run_device.h"
#include "cli/supervise.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr uint64_t kComfortableBytes = uint64_t{5} << 30U;

struct KnownVariable {
  const char* name;
  std::string_view meaning;
};

// Variables by which other profilers are switched on in a program that torch is part of.
constexpr std::array kProfilerVariables = {
    KnownVariable{"KINETO_USE_DAEMON", "dynolog may start torch's profiler at any time"},
    KnownVariable{"MSMONITOR_USE_DAEMON", "msMonitor may start torch_npu's profiler at any time"},
    KnownVariable{"PROF_CONFIG_PATH", "torch_npu's dynamic profiling is on"},
    KnownVariable{"PROFILER_SAMPLECONFIG", "CANN's msprof is attached"},
    KnownVariable{"VLLM_TORCH_PROFILER_DIR", "vLLM starts torch's profiler on request"},
    KnownVariable{"NSYS_PROFILING_SESSION_ID", "Nsight Systems is attached"},
    KnownVariable{"CUDA_INJECTION64_PATH", "a tool is injected into CUDA programs"},
    KnownVariable{"ROCP_TOOL_LIB", "a ROCm profiler is attached"},
    KnownVariable{"LD_PRELOAD", "a library is loaded before all others"},
    KnownVariable{"LD_AUDIT", "an auditor observes the dynamic linker"},
};

struct DeviceFamily {
  std::string_view prefix;  // of the device files
  const char* tool;
  std::string_view name;
};

constexpr std::array kDeviceFamilies = {
    DeviceFamily{"nvidia", "nvidia-smi", "NVIDIA"},
    DeviceFamily{"davinci", "npu-smi", "Ascend"},
};

bool IsNumber(std::string_view text) { return base::ParseUint64(text).has_value(); }

// Nanoseconds that one call of `read` costs, the best of a few rounds.
template <class Read>
double ReadCostNs(const Read& read) {
  constexpr int kReadings = 20000;
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < 5; ++round) {
    const int64_t begin_ns = base::MonotonicRawNs();
    for (int i = 0; i < kReadings; ++i)
      read();  // both clocks are volatile: no reading is optimised away
    const int64_t end_ns = base::MonotonicRawNs();
    best = std::min(best, static_cast<double>(end_ns - begin_ns) / kReadings);
  }
  return best;
}

// The kernel takes "tsc" off the list when it found the counters of two cores apart.
bool KernelTrustsTsc() {
  const Result<std::string> sources =
      base::ReadFile("/sys/devices/system/clocksource/clocksource0/available_clocksource");
  return !sources.ok() || sources->find("tsc") != std::string::npos;
}

std::string Format(const char* format, double value) {
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<size_t>(size)};
}

std::string OsName() {
  const Result<std::string> release = base::ReadFile("/etc/os-release");
  if (!release.ok()) return "Linux";
  for (const std::string_view line : base::Split(*release, '\n')) {
    constexpr std::string_view kKey = "PRETTY_NAME=\"";
    if (line.starts_with(kKey))
      return std::string(line.substr(kKey.size(), line.size() - kKey.size() - 1));
  }
  return "Linux";
}

}  // namespace

std::string DescribeMachine() {
  utsname names{};
  uname(&names);  // fails for a bad address only
  const int cores = base::AvailableThreads();
  return Concat(names.nodename, ", ", OsName(), ", ", names.machine, ", ",
                base::CountOf(cores, "core"));
}

Finding CheckClock() {
  const double cost_ns = ReadCostNs([] { return base::ReadTsc(); });
  if (base::TscIsInvariant() && KernelTrustsTsc()) {
    return {.subject = "Clock",
            .text = Concat("CPU counter at one constant rate, ",
                           Format("%.2f ns", 1e9 / base::MeasureTscHz()), " resolution, ",
                           Format("%.1f ns", cost_ns), " a reading")};
  }
  const double slow_ns = ReadCostNs([] { return static_cast<uint64_t>(base::MonotonicRawNs()); });
  return {.grade = Grade::kNote,
          .subject = "Clock",
          .text = Concat("the CPU counter is not reliable here: CLOCK_MONOTONIC_RAW is used, ",
                         Format("%.1f ns", slow_ns), " a reading instead of ",
                         Format("%.1f ns", cost_ns)),
          .remedy = "none needed: times are correct, recording costs a little more"};
}

Finding CheckSavePath(const std::string& path) {
  const std::string full = base::AbsolutePath(path);
  if (const Status status = base::CheckWritableDirectory(full); !status.ok()) {
    return {.grade = Grade::kFailure,
            .subject = "Save path",
            .text = std::string(status.message()),
            .remedy = "choose another folder with --profile-save-path"};
  }
  const Result<uint64_t> free_bytes = base::FreeDiskBytes(full);
  const std::string text =
      Concat(full, " can be written, ",
             free_bytes.ok() ? base::FormatBytes(*free_bytes) : "unknown space", " free");
  if (free_bytes.ok() && *free_bytes < kComfortableBytes) {
    return {
        .grade = Grade::kNote,
        .subject = "Save path",
        .text = text,
        .remedy = "recording stops when the disk is full: free some space or choose another disk"};
  }
  return {.subject = "Save path", .text = text};
}

std::vector<Finding> CheckOtherProfilers(const VariableGetter& get_variable) {
  std::vector<Finding> findings;
  for (const KnownVariable& known : kProfilerVariables) {
    const char* value = get_variable(known.name);
    if (value == nullptr || *value == '\0' || std::string_view(value) == "0") continue;
    findings.push_back(
        {.grade = Grade::kNote,
         .subject = "Other profiler",
         .text = Concat(known.name, "=", value, ": ", known.meaning),
         .remedy =
             "two profilers at once slow the program; unset the variable if this is unintended"});
  }
  if (findings.empty())
    findings.push_back({.subject = "Other profilers", .text = "none switched on"});
  return findings;
}

std::vector<Finding> CheckDevices(const std::string& root) {
  std::vector<Finding> findings;
  const auto entries = base::ListDirectory(root);
  if (!entries.ok()) return findings;
  for (const DeviceFamily& family : kDeviceFamilies) {
    const auto count = std::count_if(entries->begin(), entries->end(), [&](const auto& entry) {
      const std::string_view name = entry.name;
      return name.starts_with(family.prefix) && IsNumber(name.substr(family.prefix.size()));
    });
    if (count == 0) continue;
    const bool has_tool = FindProgram(family.tool).ok();
    findings.push_back({.subject = "Devices",
                        .text = Concat(std::to_string(count), " ", family.name, " under ", root,
                                       ", ", family.tool, has_tool ? " found" : " not found")});
  }
  return findings;
}

std::vector<Finding> CheckDeviceTasks(const std::string& root, const VariableGetter& get_variable) {
  const auto entries = base::ListDirectory(root);
  const bool has_npu =
      entries.ok() && std::any_of(entries->begin(), entries->end(), [](const auto& entry) {
        const std::string_view name = entry.name;
        return name.starts_with("davinci") && IsNumber(name.substr(std::strlen("davinci")));
      });
  if (!has_npu) return {};
  if (const auto library = FindMspti(get_variable)) {
    return {{.subject = "Tasks of the NPU", .text = Concat("recorded by ", *library)}};
  }
  return {{.grade = Grade::kGap,
           .subject = "Tasks of the NPU",
           .text = "CANN's libmspti.so was not found by ASCEND_HOME_PATH and LD_LIBRARY_PATH",
           .remedy = "source CANN's set_env.sh before sonde run (a CANN that has libmspti.so)",
           .loses = "what the NPU does"}};
}

}  // namespace sonde::cli

// Facts of the machine and the session that Ascend's databases have tables for (HOST_INFO,
// NPU_INFO, SESSION_TIME_INFO), as metadata of the store: host_uid, host_name, npu_name_<device>,
// session_begin_ns, session_end_ns. Raw records have them in their settings; text deliverables
// nowhere, so that ours have them in profiler_metadata.json.
//
// Unknown facts are absent: nothing is made up. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "importers/rows/trace_rows.h"

namespace sonde::importers::ascend {

inline constexpr std::string_view kHostUid = "host_uid";
inline constexpr std::string_view kHostName = "host_name";
inline constexpr std::string_view kNpuName = "npu_name_";  // and the number of the device
inline constexpr std::string_view kSessionBegin = "session_begin_ns";
inline constexpr std::string_view kSessionEnd = "session_end_ns";

bool IsMachineFact(std::string_view key);

// The name that the vendor has for a chip's number; empty for others.
std::string_view ChipName(int64_t chip);

// Of a folder PROF_*: host/info.json, host/start_info, host/end_info.
void AddMachineOfProf(const std::string& prof_folder, TraceRows& rows);
void AddChip(int32_t device, int64_t chip, TraceRows& rows);

// The name of the host in profiler_metadata.json of a span folder; empty where it has none.
std::string HostNameOf(const std::string& span_folder);
// Processes without a host lie on the one that the metadata names.
void NameHostOfMetadata(TraceRows& rows);

}  // namespace sonde::importers::ascend

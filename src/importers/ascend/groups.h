// Converts texts about communicators and operators in Ascend's files to rows, for databases and
// text files alike. Pure except for the rows. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "importers/common/communication_names.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers {

using common::GroupHash;
using common::IsPointToPoint;

// Groups of {"<communicator>": {"group_name": "dp", "global_ranks": [0, 1]}}; garbled: counted.
void AddGroups(std::string_view json, TraceRows& rows);

// "hcom_allReduce__586_0_1" or "hcom_allReduce_" -> "allreduce".
std::string CommunicationType(std::string_view name);

// Bytes of an element of a type as HCCL names it (FP32, BFP16 ...); -1 unknown.
int64_t ElementBytes(std::string_view hccl_type);

// A cell of shapes without the quotes that it holds: "\"32,3\"" -> "32,3". Of a scalar they hold
// nothing: "\"\"" -> "". nullopt for "N/A" and an empty cell: unknown.
std::optional<std::string_view> UnquotedShapes(std::string_view cell);
// The same with line breaks after ';' taken out, as framework files have them.
std::string JoinedLines(std::string_view cell);

// Sets wait_ns of kernels and of nothing else: the idle time of the device before each, over all
// its streams and communication operations. `one_device`: all rows are of one, and the tracks need
// not be there.
void ComputeWaits(TraceRows& rows, bool one_device = false);

// Metadata files of a span folder: profiler_info*.json, profiler_metadata.json. Also takes the rank
// where it is not known yet.
void ReadSpanMetadata(const std::string& span_folder, TraceRows& rows);

}  // namespace sonde::importers

// Blocks of memory with the operator that asked for them (operator_memory.csv, table OP_MEMORY).
//
// One row a block allocated while recording, in the order of allocation. Release and active release
// (the block is free for other streams) are the same moment on the CPU. The name is that of the
// nearest operator around the allocation that begins with aten::, npu:: or atb::, empty if none.
// Units: nanoseconds, bytes; -1 unknown. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

struct OperatorMemoryRow {
  uint32_t block = 0;  // index into data.memory_blocks
  int32_t name = store::kNone;
};

std::vector<OperatorMemoryRow> OperatorMemory(const TraceData& data);

// "CPU", "NPU:0", "CUDA:0".
std::string DeviceTypeText(int16_t device_type, int16_t device_index);

// Name id of the operator that owns what happened in `slice_id`.
int32_t OwnerName(const TraceData& data, int32_t slice_id);

}  // namespace sonde::recipes

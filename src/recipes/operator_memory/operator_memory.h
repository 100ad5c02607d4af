// Blocks of memory with the operator that asked for them (operator_memory.csv, table OP_MEMORY).
//
// One row a block allocated while recording, in the order of allocation, behind them those of the
// graph engine as its files list them. The name is that of the nearest operator around the
// allocation that begins with aten::, npu:: or atb::, else the owner that an imported file names,
// empty if none.
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
  bool is_graph_engine = false;  // knows neither streams nor active memory
  // The block is free for other streams. A capture knows one release, which is this one too.
  int64_t active_free_ts = -1;
};

std::vector<OperatorMemoryRow> OperatorMemory(const TraceData& data);

// From the allocation to `end_ts`; -1 where it did not happen.
int64_t LifeNs(const store::MemoryBlockRow& block, int64_t end_ts);

// "CPU", "NPU:0", "CUDA:0".
std::string DeviceTypeText(int16_t device_type, int16_t device_index);

// Name id of the operator that owns what happened in `slice_id`.
int32_t OwnerName(const TraceData& data, int32_t slice_id);

}  // namespace sonde::recipes

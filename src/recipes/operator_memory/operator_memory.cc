#include "recipes/operator_memory/operator_memory.h"

#include <algorithm>

#include "base/strings.h"
#include "recipes/recipe.h"

namespace sonde::recipes {

std::string DeviceTypeText(int16_t device_type, int16_t device_index) {
  constexpr int16_t kCpu = 0;
  constexpr int16_t kCuda = 1;
  if (device_type == kCpu) return "CPU";
  const std::string type = device_type == kCuda ? "CUDA" : "NPU";
  return device_index < 0 ? type : base::Concat(type, ":", std::to_string(device_index));
}

int32_t OwnerName(const TraceData& data, int32_t slice_id) {
  for (int32_t id = slice_id; id >= 0; id = data.Slice(id).parent_id) {
    const std::string_view name = data.Name(data.Slice(id).name);
    if (name.starts_with("aten::") || name.starts_with("npu::") || name.starts_with("atb::")) {
      return data.Slice(id).name;
    }
  }
  return store::kNone;
}

int64_t LifeNs(const store::MemoryBlockRow& block, int64_t end_ts) {
  int64_t life_ns = 0;
  if (end_ts < 0 || __builtin_sub_overflow(end_ts, block.alloc_ts, &life_ns)) return -1;
  return life_ns;
}

std::vector<OperatorMemoryRow> OperatorMemory(const TraceData& data) {
  std::vector<OperatorMemoryRow> rows;
  for (uint32_t i = 0; i < data.memory_blocks.size(); ++i) {
    const store::MemoryBlockRow& block = data.memory_blocks[i];
    if (block.alloc_ts < 0) continue;
    OperatorMemoryRow row;
    row.block = i;
    row.name = OwnerName(data, block.owner_slice_id);
    if (row.name == store::kNone) row.name = block.name;
    row.is_graph_engine = data.Name(block.component) == "GE";
    row.active_free_ts = block.component == store::kNone ? block.free_ts : block.active_free_ts;
    rows.push_back(row);
  }
  std::stable_sort(
      rows.begin(), rows.end(), [&](const OperatorMemoryRow& a, const OperatorMemoryRow& b) {
        if (a.is_graph_engine || b.is_graph_engine) return !a.is_graph_engine;
        return data.memory_blocks[a.block].alloc_ts < data.memory_blocks[b.block].alloc_ts;
      });
  return rows;
}

namespace {

#define SONDE_COLUMNS_OPERATOR_MEMORY(C)                                                  \
  C(name, Text, "", KeyOf("operator"), "of the operator that asked for it, may be empty") \
  C(size_bytes, Int, "bytes", kLess, "of the block")                                      \
  C(alloc_ns, Int, "ns", kLabel, "allocation, of the Unix epoch")                         \
  C(free_ns, Opt, "ns", kLabel, "release, of the Unix epoch; NULL: not while recording")  \
  C(device, Text, "", KeyOf("memory_device"), "CPU, NPU:0, ...")
SONDE_RESULT(OperatorMemoryRecord, kOperatorMemory, "operator_memory",
             SONDE_COLUMNS_OPERATOR_MEMORY, "a block of memory and who asked for it")

void RunOperatorMemory(const DeviceView& view, store::RowSink& rows) {
  const TraceData& data = *view.data;
  for (const OperatorMemoryRow& row : OperatorMemory(data)) {
    const store::MemoryBlockRow& block = data.memory_blocks[row.block];
    const std::string device = DeviceTypeText(block.device_type, block.device_index);
    OperatorMemoryRecord{data.Name(row.name), block.size_bytes, block.alloc_ts, block.free_ts,
                         device}
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kOperatorMemoryRecipe;
constexpr Recipe kOperatorMemoryRecipe = {
    &kOperatorMemory, Reads<store::SliceRow, store::MemoryBlockRow>(), &RunOperatorMemory};

}  // namespace sonde::recipes

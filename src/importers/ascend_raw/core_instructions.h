// Working times of the pipelines of a core of chips 15 and 16, and the checkpoints of kernels
// (instr.biu_perf_group<N>_<core>).
//
// Words of 32 bits: four stamps give a moment in ticks of the device and the block that ran. Each
// other word has the cycles of the core since the last one, and the pipelines that work from then
// on. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "importers/ascend_raw/device_layer.h"

namespace sonde::importers::raw {

class CoreInstructions {
 public:
  // `pid`: of the process that the device worked for.
  CoreInstructions(TraceRows& rows, const DeviceLayer& device, std::string folder, int64_t pid)
      : rows_(rows), device_(device), folder_(std::move(folder)), pid_(pid) {}

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);

 private:
  static constexpr size_t kPipelines = 7;
  // Of one core.
  struct Core {
    std::string name;
    double mhz = 0;
    std::array<uint16_t, 4> stamp = {};
    uint32_t stamps = 0;  // that came of it
    int64_t stamped_ns = -1;
    uint64_t cycles = 0;  // since then
    uint16_t block = 0;
    bool is_behind_end = false;
    std::array<std::optional<int64_t>, kPipelines> began = {};
    std::array<int32_t, kPipelines> tracks = {};
    std::map<std::pair<uint16_t, int32_t>, int32_t> arguments = {};  // by block and checkpoint
  };

  void Take(uint32_t word, Core& core);
  void TakeStamp(uint32_t word, Core& core);
  void TakeState(uint32_t working, int64_t now, Core& core);
  void AddSlice(size_t pipeline, int64_t begin, int64_t end, int32_t checkpoint, Core& core);

  TraceRows& rows_;
  const DeviceLayer& device_;
  std::string folder_;
  int64_t pid_;
};

}  // namespace sonde::importers::raw

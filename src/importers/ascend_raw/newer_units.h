// Units of newer devices (chips 15 and 16) besides their queues, as slices of layers: the missions
// of the communication unit (ccu<n>.instr), the blocks that cores ran (stars_block.data), and the
// parts of fused tasks (stars_soc.data). The communication unit's channels (ccu<n>.stat) are
// counters.
//
// Times are ticks of the device, tasks have numbers of their own. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "importers/ascend_raw/device_layer.h"
#include "importers/ascend_raw/unit_facts.h"

namespace sonde::importers::raw {

class NewerUnits {
 public:
  NewerUnits(TraceRows& rows, const DeviceLayer& device, int64_t pid)
      : rows_(rows), device_(device), pid_(pid) {}
  NewerUnits(const NewerUnits&) = delete;
  NewerUnits& operator=(const NewerUnits&) = delete;

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // A record of the scheduler's log without a task; false where it is of no fused one.
  bool Take(std::string_view record);
  // When all are read, and the host's are built.
  void Build(HostLayer& host, const UnitFacts& facts);

 private:
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t task = 0;
    uint32_t part = 0;  // of a fused task its kind; of blocks core (with its kind) and block
    uint32_t block = 0;
  };
  // Begins and ends of one kind of records, by task, part and block.
  struct Open {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::deque<uint64_t>> begins;
    std::vector<Span> spans;
    int64_t alone = 0;  // ends without a begin
    void Take(bool is_begin, const Span& of, uint64_t time);
    int64_t CountAlone() const;
  };
  struct Mission {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t task = 0;
    uint32_t rank = 0;  // that the unit waited for longest
    uint16_t instruction = 0;
    bool is_wait = false;
  };

  void TakeBlock(std::string_view record);
  void TakeMission(std::string_view record);
  void TakeChannels(std::string_view record, std::string_view unit);
  void AddMission(const Mission& mission, const UnitFacts& facts, HostLayer& host);
  // Of slices of a layer that overlap, the later one is on a layer "<layer> 2", and so on.
  std::string LaneOf(std::string_view layer, uint64_t begin, uint64_t end);
  int32_t AddSlice(std::string_view layer, std::string_view kind, uint64_t begin, uint64_t end,
                   int32_t name);
  const HostTask* TaskOf(uint32_t number, const HostLayer& host);

  TraceRows& rows_;
  const DeviceLayer& device_;
  int64_t pid_;
  Open blocks_;
  Open fused_;
  std::vector<Mission> missions_;
  std::map<std::string, std::vector<uint64_t>, std::less<>> lanes_;  // ends of their slices
  std::map<uint32_t, const HostTask*> tasks_;  // of the host, by number; made when needed
};

}  // namespace sonde::importers::raw

// Further records of the host, besides its calls and launches: models, fused operators, memory of
// the graph engine, streams that one stream of a model became, groups of threads.
//
// All are small except the memory's events. One thread. Units: ticks of the host until they are
// rows.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/ascend_raw/aicpu_communication.h"
#include "importers/ascend_raw/host_layer.h"
#include "importers/ascend_raw/unit_facts.h"

namespace sonde::importers::raw {

class HostFacts {
 public:
  HostFacts(TraceRows& rows, const Clock& clock)
      : rows_(rows), clock_(clock), units_(rows, clock) {}
  HostFacts(const HostFacts&) = delete;
  HostFacts& operator=(const HostFacts&) = delete;

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // Of communicators whose tasks the AI CPU launches.
  const std::vector<CommunicationStreams>& communicators() const { return communicators_; }
  const UnitFacts& units() const { return units_; }
  // When all are read, and the calls are built.
  void Build(HostLayer& host, int64_t pid);

 private:
  struct Fusion {
    Head head = {};
    uint64_t name = 0;
    std::vector<uint64_t> operators;
    std::array<uint64_t, 5> bytes = {};  // in, out, weights, workspace, all
  };
  struct StaticMemory {
    int64_t size = 0;
    uint64_t name = 0;
    uint64_t begin = 0;  // serial numbers of its first and last use
    uint64_t end = 0;
    uint64_t dynamic_name = 0;
    uint32_t graph = 0;
  };
  struct MemoryChange {
    Head head = {};
    uint64_t address = 0;
    int64_t size = 0;
    uint64_t name = 0;
    uint64_t allocated = 0;
    uint64_t reserved = 0;
    uint32_t device = 0;
  };

  void TakeFusion(std::string_view record, const Stream& stream);
  void TakeMemory(std::string_view record);
  // One number and a list of those that belong to it, whose length is at `count_at`.
  void TakePairs(std::string_view record, uint32_t first, size_t count_at, uint32_t most,
                 std::set<std::pair<uint32_t, uint32_t>>& pairs);
  void TakeCommunicator(std::string_view record);
  void AddFusions(HostLayer& host);
  void AddStaticMemory(Dictionary& dictionary);
  void AddPairs(std::string_view key, const std::set<std::pair<uint32_t, uint32_t>>& pairs);
  void AddMemory(Dictionary& dictionary, int64_t pid);
  void AddEvent(const MemoryChange& change, int64_t pid);

  TraceRows& rows_;
  const Clock& clock_;
  UnitFacts units_;
  std::unordered_map<uint32_t, uint64_t> model_names_;  // hash, by number of the model
  std::vector<Fusion> fusions_;
  std::vector<StaticMemory> static_memory_;
  std::vector<CommunicationStreams> communicators_;
  std::set<std::pair<uint32_t, uint32_t>> streams_;  // of a model, of the device
  std::set<std::pair<uint32_t, uint32_t>> threads_;  // the reporting thread, a member
  base::SpillVector<MemoryChange> memory_{base::SpillAllocator<MemoryChange>(rows_.pool())};
};

}  // namespace sonde::importers::raw

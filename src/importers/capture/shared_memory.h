// Collectives that go through shared memory instead of torch's process groups.
//
// vLLM on a CPU carries out those of tensor and pipeline parallelism by operators of its own
// (`_C::shm_allreduce`); they name no group, so the groups are in the capture's metadata
// ("shared_memory_groups": [{"name": "tp:0", "ranks": [0, 1]}]), which the vLLM hook writes.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "importers/capture/dictionary.h"

namespace sonde::importers::capture_import {

// "allreduce" for "_C::shm_allreduce"; empty for an operator that is no such collective.
std::string_view SharedMemoryCollective(std::string_view name);

// Name ids of such operators that the capture has, ascending; mostly none.
std::vector<uint32_t> SharedMemoryOps(const Dictionary& dictionary);

// Size in bytes and number of elements of a rank's input, from the texts of the inputs: their first
// tensor. -1 where shapes were not recorded.
struct Payload {
  int64_t bytes = -1;
  int64_t count = -1;
  std::string_view data_type;
};
Payload PayloadOf(std::string_view shapes, std::string_view types);

struct SharedMemoryGroup {
  std::string name;
  std::vector<int64_t> ranks;
};
std::vector<SharedMemoryGroup> SharedMemoryGroups(const Dictionary& dictionary);

// The group of a collective: pipeline parallelism sends and receives, all else is of tensor
// parallelism. null where the capture names none.
const SharedMemoryGroup* GroupFor(const std::vector<SharedMemoryGroup>& groups,
                                  bool is_point_to_point);

}  // namespace sonde::importers::capture_import

// The process groups of torch.distributed, by the address of their C++ object.
//
// Append-only, so that operators on any thread read it without a lock: entries are complete before
// the count includes them, and never change. A group made later at the address of one that is gone,
// or under its name, comes after it and is found first. Threads: Add under the GIL, the rest
// anywhere.
#ifndef SONDE_ADAPT_TORCH_PROCESS_GROUPS_H_
#define SONDE_ADAPT_TORCH_PROCESS_GROUPS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "adapt/python/python_api.h"

namespace sonde::adapt {

struct ProcessGroup {
  const void* address = nullptr;  // of the C++ object; nullptr: not known
  std::string name;
  std::string backend;
  std::vector<int64_t> ranks;  // global, in the order of group ranks
  uint32_t ranks_name = 0;     // dictionary id of RanksJson(ranks)
};

// "[0, 1, 2]".
std::string RanksJson(const std::vector<int64_t>& ranks);

class ProcessGroups {
 public:
  // False: full. A group that is there already, equal in all fields, is not added again.
  bool Add(ProcessGroup group);
  const ProcessGroup* FindByAddress(const void* address) const;
  // The only group of several ranks; nullptr where there are none or several.
  const ProcessGroup* Only() const;
  // Distinct names of groups with several ranks; whether any is not Gloo's.
  size_t CountShared(bool* all_gloo) const;

 private:
  static constexpr size_t kCapacity = 1024;

  std::atomic<size_t> count_{0};
  const ProcessGroup* groups_[kCapacity] = {};
};

// Address of the C++ object that a pybind11 object holds; nullptr where the object has an
// unexpected layout.
const void* HeldObject(const PyObject* object);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_PROCESS_GROUPS_H_

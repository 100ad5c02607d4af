#include "adapt/torch/process_groups.h"

#include <utility>

#include "adapt/torch/layout.h"

namespace sonde::adapt {

std::string RanksJson(const std::vector<int64_t>& ranks) {
  std::string json = "[";
  for (const int64_t rank : ranks) {
    if (json.size() > 1) json += ", ";
    json += std::to_string(rank);
  }
  return json + "]";
}

bool ProcessGroups::Add(ProcessGroup group) {
  const size_t count = count_.load(std::memory_order_relaxed);
  for (size_t i = count; i-- > 0;) {
    const ProcessGroup& other = *groups_[i];
    if (other.name != group.name) continue;
    if (other.address == group.address && other.ranks == group.ranks &&
        other.backend == group.backend) {
      return true;
    }
    break;  // a later group of that name replaces it
  }
  if (count == kCapacity) return false;
  groups_[count] = new ProcessGroup(std::move(group));  // for the life of the process
  count_.store(count + 1, std::memory_order_release);
  return true;
}

const ProcessGroup* ProcessGroups::FindByAddress(const void* address) const {
  if (address == nullptr) return nullptr;
  for (size_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
    if (groups_[i]->address == address) return groups_[i];
  }
  return nullptr;
}

size_t ProcessGroups::CountShared(bool* all_gloo) const {
  *all_gloo = true;
  size_t shared = 0;
  const size_t count = count_.load(std::memory_order_acquire);
  for (size_t i = count; i-- > 0;) {
    const ProcessGroup& group = *groups_[i];
    bool replaced = false;
    for (size_t k = i + 1; k < count && !replaced; k++) replaced = groups_[k]->name == group.name;
    if (replaced || group.ranks.size() < 2) continue;
    shared++;
    if (group.backend.find("gloo") == std::string::npos ||
        group.backend.find("nccl") != std::string::npos ||
        group.backend.find("hccl") != std::string::npos) {
      *all_gloo = false;
    }
  }
  return shared;
}

const ProcessGroup* ProcessGroups::Only() const {
  bool all_gloo = false;
  if (CountShared(&all_gloo) != 1) return nullptr;
  for (size_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
    if (groups_[i]->ranks.size() > 1) return groups_[i];
  }
  return nullptr;
}

const void* HeldObject(const PyObject* object) {
  // An object of one C++ type: value pointer, then its holder, here one pointer to the same.
  const void* value = ReadAt<const void*>(object, sizeof(PyObject));
  const void* holder = ReadAt<const void*>(object, sizeof(PyObject) + sizeof(void*));
  return value == holder ? value : nullptr;
}

}  // namespace sonde::adapt

// Modules (Python objects) to name and argument set ids; open addressing, keyed by address.
//
// An entry is valid while its weak reference still points to the object: an address that Python
// gave to another object since is not found. Dead entries go away when the table grows.
// Threads: under the GIL.
#ifndef SONDE_ADAPT_TORCH_MODULE_TABLE_H_
#define SONDE_ADAPT_TORCH_MODULE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "adapt/python/python_api.h"
#include "adapt/torch/layout.h"

namespace sonde::adapt {

// The object of a weak reference, None's address after its end; borrowed.
inline const PyObject* WeakReferent(const PyObject* reference) {
  return ReadAt<const PyObject*>(reference, 16);  // first field after the head
}

class ModuleTable {
 public:
  struct Entry {
    PyObject* module;     // nullptr = free
    PyObject* reference;  // weak
    uint32_t name;
    uint32_t args;
  };

  explicit ModuleTable(const PythonApi* python) : python_(python), entries_(256) {}

  const Entry* Find(const PyObject* module) const {
    for (size_t i = Place(module);; i = (i + 1) & (entries_.size() - 1)) {
      const Entry& entry = entries_[i];
      if (entry.module == module && WeakReferent(entry.reference) == module) [[likely]]
        return &entry;
      if (entry.module == nullptr) return nullptr;
    }
  }

  // Adds or replaces. False: the object takes no weak reference.
  bool Put(PyObject* module, uint32_t name, uint32_t args);

 private:
  size_t Place(const PyObject* module) const {
    return ((reinterpret_cast<uintptr_t>(module) * 0x9e3779b97f4a7c15u) >> 40) &
           (entries_.size() - 1);
  }
  void Insert(const Entry& entry);
  void Grow();

  const PythonApi* python_;
  std::vector<Entry> entries_;
  size_t used_ = 0;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_MODULE_TABLE_H_

#include "adapt/torch/module_table.h"

namespace sonde::adapt {

bool ModuleTable::Put(PyObject* module, uint32_t name, uint32_t args) {
  if (const Entry* found = Find(module)) {
    auto* entry = const_cast<Entry*>(found);
    entry->name = name;
    entry->args = args;
    return true;
  }
  PyObject* reference = python_->weak_reference(module, nullptr);
  if (reference == nullptr || WeakReferent(reference) != module) {
    python_->error_clear();
    python_->release(reference);
    return false;
  }
  if ((used_ + 1) * 2 > entries_.size()) Grow();
  Insert({module, reference, name, args});
  return true;
}

void ModuleTable::Insert(const Entry& entry) {
  size_t i = Place(entry.module);
  while (entries_[i].module != nullptr) i = (i + 1) & (entries_.size() - 1);
  entries_[i] = entry;
  used_++;
}

void ModuleTable::Grow() {
  std::vector<Entry> old;
  old.swap(entries_);
  size_t alive = 0;
  for (const Entry& entry : old) {
    if (entry.module != nullptr && WeakReferent(entry.reference) == entry.module) alive++;
  }
  size_t size = 256;
  while (size < alive * 4) size *= 2;
  entries_.resize(size);
  used_ = 0;
  for (const Entry& entry : old) {
    if (entry.module == nullptr) continue;
    if (WeakReferent(entry.reference) == entry.module) {
      Insert(entry);
    } else {
      python_->release(entry.reference);
    }
  }
}

}  // namespace sonde::adapt

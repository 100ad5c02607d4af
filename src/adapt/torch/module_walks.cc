#include "adapt/torch/module_walks.h"

#include <algorithm>

#include "adapt/torch/module_table.h"

namespace sonde::adapt {
namespace {

constexpr uint64_t kFirstPause = 100;
constexpr uint64_t kLongestPause = 1000;
constexpr uint32_t kFreeWalks = 16;

}  // namespace

bool ModuleWalks::MayWalk(PyObject* root, uint64_t now_ns) {
  const Root* known = FindOrAdd(root);
  return known != nullptr && now_ns >= known->pause_end_ns;
}

void ModuleWalks::Walked(PyObject* root, uint64_t begin_ns, uint64_t end_ns, bool found_any) {
  Root* known = Find(root);
  if (known == nullptr) return;
  SetUnnamed(*known, false);
  uint64_t factor = 0;
  if (found_any) {
    if (++known->fruitful > kFreeWalks) factor = kFirstPause;
    known->pause_factor = 0;
  } else {
    factor = std::clamp(known->pause_factor * 2, kFirstPause, kLongestPause);
    known->pause_factor = factor;
  }
  known->pause_end_ns = end_ns + factor * (end_ns - begin_ns);
}

void ModuleWalks::NoteUnnamed(PyObject* root) {
  if (Root* known = Find(root)) SetUnnamed(*known, true);
}

bool ModuleWalks::HasUnnamed(PyObject* root) const {
  const Root* known = const_cast<ModuleWalks*>(this)->Find(root);
  return known != nullptr && known->unnamed;
}

ModuleWalks::Root* ModuleWalks::Find(const PyObject* module) {
  for (Root& root : roots_) {
    if (root.module == module && WeakReferent(root.reference) == module) return &root;
  }
  return nullptr;
}

ModuleWalks::Root* ModuleWalks::FindOrAdd(PyObject* module) {
  if (Root* known = Find(module)) return known;
  DropDead();
  PyObject* reference = python_->weak_reference(module, nullptr);
  if (reference == nullptr || WeakReferent(reference) != module) {
    python_->error_clear();
    python_->release(reference);
    return nullptr;
  }
  roots_.push_back({module, reference});
  return &roots_.back();
}

void ModuleWalks::SetUnnamed(Root& root, bool unnamed) {
  unnamed_ = unnamed_ + (unnamed ? 1 : 0) - (root.unnamed ? 1 : 0);
  root.unnamed = unnamed;
}

void ModuleWalks::DropDead() {
  for (size_t i = roots_.size(); i-- > 0;) {
    if (WeakReferent(roots_[i].reference) == roots_[i].module) continue;
    SetUnnamed(roots_[i], false);
    python_->release(roots_[i].reference);
    roots_.erase(roots_.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace sonde::adapt

// Decides when the tree of a model is walked again for modules that have no name yet.
//
// A module that is met inside a model may have been added since its tree was walked, or belong to
// none: made in forward() and gone again, new at every step. A walk costs as much as the model has
// modules. So one that found nothing new is followed by a pause of 100 times its duration, twice as
// long after each further one in a row, at most 1000 times. So is each that found something, from
// the 17th on. Modules met in a pause carry the name of their class until the next walk. All this
// per root, for the life of the object: a weak reference distinguishes it from a later object at
// its address. Threads: under the GIL.
#ifndef SONDE_ADAPT_TORCH_MODULE_WALKS_H_
#define SONDE_ADAPT_TORCH_MODULE_WALKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "adapt/python/python_api.h"

namespace sonde::adapt {

class ModuleWalks {
 public:
  explicit ModuleWalks(const PythonApi* python) : python_(python) {}

  bool MayWalk(PyObject* root, uint64_t now_ns);  // never where it takes no weak reference
  void Walked(PyObject* root, uint64_t begin_ns, uint64_t end_ns, bool found_any);
  // A module was met in a pause: one more walk is due when that is over.
  void NoteUnnamed(PyObject* root);
  bool AnyUnnamed() const { return unnamed_ != 0; }  // of any root
  bool HasUnnamed(PyObject* root) const;

 private:
  struct Root {
    PyObject* module;
    PyObject* reference;  // weak
    uint64_t pause_end_ns = 0;
    uint64_t pause_factor = 0;  // the last one's, where it found nothing
    uint32_t fruitful = 0;      // walks that found something
    bool unnamed = false;
  };
  Root* Find(const PyObject* module);
  Root* FindOrAdd(PyObject* module);
  void SetUnnamed(Root& root, bool unnamed);
  void DropDead();

  const PythonApi* python_;
  std::vector<Root> roots_;
  size_t unnamed_ = 0;  // roots with the flag
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_MODULE_WALKS_H_

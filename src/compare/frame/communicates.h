// Whether a kernel of a side communicates: asked of recipes/meaning, as all commands do. Operations
// of communication that hang below operators (Kernel::is_communication) are no kernels. Pure, any
// thread.
#pragma once

#include "compare/frame/side.h"
#include "recipes/meaning/meaning.h"

namespace sonde::compare {

inline bool Communicates(const Side& side, const Kernel& kernel) {
  if (kernel.core == kNone) return false;
  const std::string_view core = side.Name(kernel.core);
  // The sheets of an Ascend device follow the reference, which counts what works for a
  // communication.
  if (side.IsNpu()) return core == "COMMUNICATION";
  return recipes::MeaningOf(core, side.Name(kernel.task_type), side.Name(kernel.name)) ==
         recipes::Work::kCommunication;
}

}  // namespace sonde::compare

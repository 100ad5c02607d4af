// Finds the call of the program behind an operator that another thread runs: MindSpore's threads
// pass tasks on and record that by flows ("hand-over"). The operator gets the stack, the module
// and the shapes of that call, and is launched by it. Memory that a task takes before it runs its
// operator belongs to the operator.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "importers/capture/trace.h"

namespace sonde::importers::capture_import {

// After all threads are nested and numbered. Fills trace.launches.
void ResolveHandOvers(CaptureTrace& trace);

}  // namespace sonde::importers::capture_import

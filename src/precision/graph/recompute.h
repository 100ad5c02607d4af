// Recomputed modules: activation checkpointing runs forward calls again inside the backward pass,
// where the dump sees them at the top of the tree. They are moved below the backward call of the
// module that holds their first run.
//
// Threads: one; called while a graph is built.
#pragma once

#include <string>
#include <vector>

#include "precision/dump/dump_folder.h"
#include "precision/graph/graph.h"

namespace sonde::precision {

void MoveRecomputed(const DumpFolder& dump, Graph* graph);

// Whether these frames (text of stack.json) are those of a recomputation: of torch's checkpoint, or
// a backward function that autograd calls.
bool IsRecomputationStack(const std::vector<std::string>& frames);

}  // namespace sonde::precision

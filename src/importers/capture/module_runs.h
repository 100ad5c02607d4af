// Calls of modules that nothing recorded, since only their kernels were: neighbouring kernels of
// one module are a call of it, from the begin of the first to the end of the last, inside of calls
// of the modules around it. Pure, one thread a stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "importers/capture/stage.h"

namespace sonde::importers::capture_import {

// A module as its range shows it: its path and an argument set with its class.
struct ShownModule {
  uint32_t name = 0;
  uint32_t args = 0;
  bool operator==(const ShownModule&) const = default;
};

using ModulePath = std::vector<ShownModule>;  // outermost first

// The modules around a node of the stage; null: it has none and interrupts nothing.
using PathOfNode = std::function<const ModulePath*(size_t node)>;
// Whether no call goes on behind a node.
using EndsCalls = std::function<bool(const Node& node)>;

// Puts the ranges behind their last kernel, inner before outer, as if they had been recorded.
void AddModuleRuns(ThreadStage& stage, const PathOfNode& path_of, const EndsCalls& ends);

}  // namespace sonde::importers::capture_import

// The role of a row or a call in a program: a weight, memory that the call overwrites, a part of an
// optimizer, a module behind its wrappers' names.
//
// One list of each for all that look for a first bad place: the comparison, the graph's overflow
// levels and overflow_check. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

// A tensor that stands where a call of this name takes its weight. Numbers (eps, momentum) are
// arguments.
bool IsParameterPlace(const DumpRow& row, std::string_view api);

// A tensor that the call writes and does not read: `out=`, the first of `copy_`, buffers of
// receives and gathers. What lies in it before has no meaning.
bool IsOverwrittenPlace(const DumpRow& row, std::string_view api);

// A buffer that the call reads and updates: the running statistics of a batch or instance norm.
bool IsUpdatedPlace(const DumpRow& row, std::string_view api);

// The call gives memory as it was found, or only fills it.
bool IsUninitialisedApi(std::string_view api);

// The call gives norms of whole tensors, as the clipping of gradients does.
bool IsNormOfTensors(std::string_view api);

// Whether the call was made by an optimizer's step, as construct.json states it.
bool IsOptimizerCall(std::string_view api, const ConstructFile* construct);

// "Module.module._orig_mod.a.Linear.forward.0" -> "Module.a.Linear.forward.0": without the names of
// wrappers (DDP, FSDP, torch.compile, checkpointing).
std::string WithoutWrappers(std::string_view name);

// Truth values in one run and numbers to add in the other: results show whether it is the same
// mask.
bool IsMaskInOtherForm(const DumpRow& a, const DumpRow& b);

// "layers.0.mlp" of "Module.layers.0.mlp.MLP.forward.0", without wrappers; "" for the model itself.
std::string ModulePath(std::string_view module);

}  // namespace sonde::precision

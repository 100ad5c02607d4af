// The few functions by which torch rebuilds a tensor, as records; see pickle.h.
//
// Errors: kCorruptData for wrong arguments, kUnimplemented for functions and types that are no part
// of a tensor; PickleRules::kAnyData makes objects of these. Pure, any thread.
#pragma once

#include "base/status.h"
#include "precision/tensor/pickle.h"

namespace sonde::precision {

// The value of "function(*arguments)".
Result<PicklePtr> RebuildPickled(PicklePtr function, PicklePtr arguments, PicklePool* pool,
                                 PickleRules rules);

// The storage that a persistent id names.
Result<PicklePtr> ReadStorageId(PicklePtr id, PicklePool* pool);

// Gives an object its state: attributes by name, or the pair of two such dicts.
void BuildObject(PicklePtr object, PicklePtr state, PicklePool* pool);

}  // namespace sonde::precision

// The rows of the traces of a pack in memory, for recipes.
//
// Pure, any thread. Memory: the rows of all its traces, of the tables that are needed.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "recipes/trace/needs.h"
#include "store/joint.h"
#include "store/store.h"

namespace sonde::job {

// A store of rows for each trace, by its place in the pack. `pack`: of JointStore::OpenPack.
Result<std::vector<std::unique_ptr<store::Store>>> ReadPack(const store::JointStore& pack,
                                                            size_t places,
                                                            const recipes::Needs& needs);

}  // namespace sonde::job

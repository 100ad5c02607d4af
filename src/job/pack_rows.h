// The rows of the traces of a pack in memory, for recipes.
//
// Pure, any thread. Memory: the rows of those traces, of the tables that are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "recipes/trace/needs.h"
#include "store/joint.h"
#include "store/store.h"

namespace sonde::job {

// A store of rows for each of these places, at least one. `pack`: of JointStore::OpenPack.
Result<std::vector<std::unique_ptr<store::Store>>> ReadPack(const store::JointStore& pack,
                                                            std::span<const int32_t> places,
                                                            const recipes::Needs& needs);

}  // namespace sonde::job

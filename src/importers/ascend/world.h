// How many ranks the job of a span had, by what each of them knows of the others: the sizes of the
// launcher (distributed_args), or the ranks of the groups that this one is in
// (parallel_group_info); in profiler_metadata.json, or in a database where that is not there. Pure,
// any thread.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::importers {

// 0 where nothing says it. See Importer::world.
int32_t AscendWorld(const std::string& path);

}  // namespace sonde::importers

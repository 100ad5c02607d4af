// Number of ranks of a span's job, from one rank's files: the sizes of the launcher
// (distributed_args), or the ranks of the groups that this one is in (parallel_group_info); in
// profiler_metadata.json, else in a database. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::importers {

// 0 where unknown. See Importer::world.
int32_t AscendWorld(const std::string& path);

}  // namespace sonde::importers

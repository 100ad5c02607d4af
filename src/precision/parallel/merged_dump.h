// Writes a merged rank as a dump of its own: dump.json (with "is_merged": true and, in entries that
// were put together, "parallel_merge_info"), construct.json and stack.json, in the form of all
// dumps, so that it can be compared and merged again.
//
// Errors: Status. Threads: one.
#pragma once

#include <string>

#include "base/status.h"
#include "precision/parallel/merge_tree.h"

namespace sonde::precision {

// Into `folder`, which is made.
Status WriteMergedDump(const MergedGraph& merged, const std::string& folder);

}  // namespace sonde::precision

// Runs a recipe of the user over the ranks of a folder.
//
// Statements read the rank (or rank_rows) and nothing else: no other file, no change. Threads: one
// call at a time; ranks are asked side by side. Errors: where no rank gives anything; a rank that
// fails is in `failures`, and the others count.
#pragma once

#include <vector>

#include "base/status.h"
#include "cluster/frame/run.h"
#include "cluster/user_recipes/recipe.h"

namespace sonde::cluster {

// `table` gets the columns, and has to outlive the result.
Result<RunResult> RunUserRecipe(const UserRecipe& recipe, const std::vector<Rank>& ranks,
                                const ModeOptions& mode_options, const RunOptions& options,
                                UserTable& table);

}  // namespace sonde::cluster

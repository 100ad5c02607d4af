// Options of a session in a request body or a control file, named as in the profilers that users
// know: with_stack, record_shapes, profile_memory, with_modules, activities, mstx, domain lists,
// directory, worker_name, keep_last_seconds, max_bytes, rank_list.
//
// Options that the recorder does not know (level, export_type ...) are passed on as the session's
// options text, for listeners and for readers of the capture. Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "record/json.h"
#include "record/session_config.h"

namespace sonde::record {

// Overrides `config` with the members of `options`, a JSON object. Wrong types are errors; unknown
// keys are not.
Status ApplyOptions(const JsonValue& options, SessionConfig* config);

// The options text of a session: `text`, which is the object `options`, completed by the defaults'
// text (numbers, texts, true and false).
std::string WithDefaults(const std::string& text, const JsonValue& options,
                         const std::string& defaults);

// Rank of this process from the environment (RANK); none outside distributed programs.
std::optional<int64_t> ProcessRank();

// May this process record under a list of ranks (numbers)? An empty list allows all, and so does a
// process without a rank.
Result<bool> RankIsListed(const JsonValue* rank_list);

// `path` made absolute under `root` when it is relative. Fails when it leads out of `root`.
Result<std::string> ConfinedPath(const std::string& root, const std::string& path);

}  // namespace sonde::record

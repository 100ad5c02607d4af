// Another look at ranks from within a reduce: of the base run, or of some ranks more closely.
//
// One call at a time. Errors: those of finding and reading; with a rank that fails the whole does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

inline constexpr ModeOption kBaseRun = {.name = "--bp",
                                        .kind = OptionKind::kPath,
                                        .help = "Folder of the base run",
                                        .is_of_reduce = true};

// Whether the run that --bp names is there; a Mode::check.
Status CheckBaseRun(const ModeOptions& options);

// What `map` keeps of the ranks below `folder`; `ranks` empty: all.
Result<std::vector<RankPart>> MapFolder(const Mode& mode, const std::string& folder,
                                        const std::vector<int32_t>& ranks,
                                        const ModeOptions& options);

}  // namespace sonde::cluster

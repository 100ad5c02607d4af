// Faults of a trace, for one line of a message. Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

// "code (count)" by code, whichever files had it; what is only for information is left out.
std::vector<std::string> IssueTexts(std::span<const ImportIssue> issues);

}  // namespace sonde::recipes

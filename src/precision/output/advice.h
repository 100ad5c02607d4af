// What to do about a first difference, by its cause: a sentence, empty where nothing is to be done.
//
// Pure, any thread.
#pragma once

#include <string_view>

#include "precision/cause/first_cause.h"

namespace sonde::precision {

std::string_view AdviceOf(CauseKind kind);

}  // namespace sonde::precision

// Why a rule was not judged, in words. Values, any thread, no errors.
#pragma once

#include <string>

#include "advisor/frame/advice.h"

namespace sonde::advisor {

// "for Ascend NPUs alone", "without data (op_statistic)"; the message of a rule that failed, as it
// is.
std::string NeedText(const Silence& silence, Language language);

}  // namespace sonde::advisor

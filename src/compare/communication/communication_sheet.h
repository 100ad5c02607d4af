// Communication operations by kind, with the tasks they are made of (sheet CommunicationCompare).
//
// Units: microseconds. Pure, any thread.
#pragma once

#include "compare/frame/sheet.h"
#include "compare/frame/side.h"

namespace sonde::compare {

Sheet CommunicationSheet(const Side& base, const Side& comparison);

}  // namespace sonde::compare

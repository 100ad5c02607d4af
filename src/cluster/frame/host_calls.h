// When the host asked for device work (recipes/trace/host_calls.h), for modes.
#pragma once

#include "recipes/trace/host_calls.h"

namespace sonde::cluster {

using recipes::HostCallNeeds;
using recipes::HostCalls;
using recipes::LaunchTimes;

}  // namespace sonde::cluster

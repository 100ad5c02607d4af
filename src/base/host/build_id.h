// The identity of the running program's build. It is part of the key of results that are kept, so
// that none outlives the code that made it. Any thread.
#pragma once

#include <cstdint>

namespace sonde::base {

// A hash of the build id that the linker wrote into the program (.note.gnu.build-id); where there
// is none, of size and time of change of its file.
uint64_t BuildId();

}  // namespace sonde::base

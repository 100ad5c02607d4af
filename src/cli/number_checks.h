// Checks and options of numbers that several commands take, with messages for users:
// those of CLI11 name the largest double, or all its units.
//
// Use: CheckAtLeast(app.add_option(...), 1). Pure, any thread.
#pragma once

#include <cstdint>

#include "store/joint.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
class Option;
}  // namespace CLI

namespace sonde::cli {

// A number of at least that much; the option that was given.
CLI::Option* CheckAtLeast(CLI::Option* option, int64_t least);

// --max-memory and --max-seconds of statements that are typed; `whose`: "a statement". The defaults
// are those of `limits`.
void AddStatementLimits(CLI::App& app, const char* whose, store::StatementLimits& limits);

}  // namespace sonde::cli

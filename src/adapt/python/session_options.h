// Reads single values out of the JSON object in which settings reach the adapter: from our own
// Python package, or from a request that the recorder has read before.
//
// Only the top level is looked at, or that of one member; a value of another type than expected
// counts as absent. Nothing is reported here. Pure, any thread.
#ifndef SONDE_ADAPT_PYTHON_SESSION_OPTIONS_H_
#define SONDE_ADAPT_PYTHON_SESSION_OPTIONS_H_

#include <optional>
#include <string_view>

namespace sonde::adapt {

std::optional<double> NumberOption(std::string_view json, std::string_view key);
// The text of a member that is an object, from "{" to "}"; empty: none.
std::string_view ObjectOption(std::string_view json, std::string_view key);
bool BoolOption(std::string_view json, std::string_view key, bool otherwise);
// Shortest garbage collection of Python that is recorded, in milliseconds: the option of a request
// as dynamic profiling names it, else the setting of the run.
std::optional<double> GarbageThreshold(std::string_view json);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_SESSION_OPTIONS_H_

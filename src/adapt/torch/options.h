// Reads single values out of the JSON object in which settings reach the adapter: from our own
// Python package, or from a request that the recorder has read before.
//
// Only the top level is looked at, or that of one member; a value of another type than asked for
// counts as absent. Nothing is reported here. Pure, any thread.
#ifndef SONDE_ADAPT_TORCH_OPTIONS_H_
#define SONDE_ADAPT_TORCH_OPTIONS_H_

#include <optional>
#include <string_view>

namespace sonde::adapt {

std::optional<double> NumberOption(std::string_view json, std::string_view key);
// The text of a member that is an object, from "{" to "}"; empty: none.
std::string_view ObjectOption(std::string_view json, std::string_view key);
bool BoolOption(std::string_view json, std::string_view key, bool otherwise);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_OPTIONS_H_

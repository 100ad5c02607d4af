// Reads single values out of the flat JSON object in which settings reach the adapter.
//
// Only the top level is looked at; a value of another type than asked for counts as absent. The
// writer is our own Python package, so that nothing is reported here. Pure, any thread.
#ifndef SONDE_ADAPT_TORCH_OPTIONS_H_
#define SONDE_ADAPT_TORCH_OPTIONS_H_

#include <optional>
#include <string_view>

namespace sonde::adapt {

std::optional<double> NumberOption(std::string_view json, std::string_view key);
bool BoolOption(std::string_view json, std::string_view key, bool otherwise);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_OPTIONS_H_

// Fills texts and statements of rules: {name} becomes its value.
//
// A value is written as Python's str() does, {name:.3f} with three decimals, {name:%2} as a
// percentage with two. Names are letters, digits and '_'; other braces stay. Pure, any thread.
// Errors: a name that is not known, with those that are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"

namespace sonde::advisor {

using Value = std::variant<std::monostate, int64_t, double, std::string>;
using Values = std::map<std::string, Value, std::less<>>;

std::string TextOf(const Value& value);
// True but for nothing, 0, "" and "false".
bool IsTrue(const Value& value);
// Of numbers; 0 of anything else.
double NumberOf(const Value& value);

Result<std::string> Fill(std::string_view text, const Values& values);

}  // namespace sonde::advisor

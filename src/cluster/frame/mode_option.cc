#include "cluster/frame/mode_option.h"

#include "base/check.h"
#include "base/strings.h"

namespace sonde::cluster {

using base::Concat;

bool IsGiven(const OptionValues& values, const ModeOption& option) {
  return values.contains(std::string(option.name));
}

std::string TextOf(const OptionValues& values, const ModeOption& option) {
  const auto given = values.find(std::string(option.name));
  return given == values.end() ? std::string(option.usual) : given->second;
}

int64_t IntOf(const OptionValues& values, const ModeOption& option) {
  const auto number = base::ParseInt64(TextOf(values, option));
  CHECK(number.has_value(), "a value of an option was not checked");
  return *number;
}

double RealOf(const OptionValues& values, const ModeOption& option) {
  const auto number = base::ParseDouble(TextOf(values, option));
  CHECK(number.has_value(), "a value of an option was not checked");
  return *number;
}

Status CheckValue(const ModeOption& option, std::string_view value) {
  if (option.check != nullptr) return option.check(value);
  const bool is_int = option.kind == OptionKind::kInt;
  const bool can_be = is_int                             ? base::ParseInt64(value).has_value()
                      : option.kind == OptionKind::kReal ? base::ParseDouble(value).has_value()
                                                         : true;
  if (can_be) return {};
  return base::InvalidArgumentError(
      Concat("must be a ", is_int ? "whole number" : "number", ", not '", value, "'"));
}

Status CheckAboveZero(std::string_view value) {
  const auto number = base::ParseInt64(value);
  if (number && *number > 0) return {};
  return base::InvalidArgumentError(Concat("must be a number above 0, not '", value, "'"));
}

}  // namespace sonde::cluster

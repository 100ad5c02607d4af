// JSON as Python's json.dump(indent=1) lays it out: texts in ASCII, numbers as repr() prints them,
// every element on a line of its own. Each function appends to `out`. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "probe/statistics.h"

namespace sonde::probe {

// In quotes; `text` is UTF-8; invalid bytes become U+FFFD.
void AppendQuoted(std::string& out, std::string_view text);

// A new line, indented by `depth` blanks.
void AppendLine(std::string& out, size_t depth);

// "NaN" and "Infinity" are bare words, as Python writes them.
void AppendReal(std::string& out, double value);
void AppendInteger(std::string& out, int64_t value);
void AppendNumber(std::string& out, const Number& number);

// The list of a shape; its elements are one level deeper than `depth`.
void AppendShape(std::string& out, std::span<const int64_t> shape, size_t depth);

}  // namespace sonde::probe

#include "advisor/frame/fill.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/strings.h"
#include "cluster/frame/facts.h"

namespace sonde::advisor {
namespace {

using base::Concat;
using cluster::Fixed;

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The '}' that ends a place of a name, or npos where the brace is none.
size_t EndOfPlace(std::string_view text, size_t open) {
  size_t at = open + 1;
  if (at >= text.size() || std::isalpha(static_cast<unsigned char>(text[at])) == 0) {
    return std::string_view::npos;
  }
  while (at < text.size() && IsNameChar(text[at])) ++at;
  if (at < text.size() && text[at] == ':') {
    while (at < text.size() && text[at] != '}' && text[at] != '\n') ++at;
  }
  return at < text.size() && text[at] == '}' ? at : std::string_view::npos;
}

// "name" or "name:.3f" or "name:%2".
Result<std::string> Written(std::string_view place, const Values& values) {
  const size_t colon = std::min(place.find(':'), place.size());
  const std::string_view name = place.substr(0, colon);
  const auto found = values.find(name);
  if (found == values.end()) {
    std::vector<std::string> known;
    for (const auto& [other, value] : values) known.push_back(other);
    return base::InvalidArgumentError(
        Concat("{", name, "} is unknown; known are ", base::Join(known, ", ")));
  }
  if (colon == place.size()) return TextOf(found->second);
  const std::string_view form = place.substr(colon + 1);
  if (form.size() == 3 && form[0] == '.' && form[2] == 'f') {
    return Fixed(NumberOf(found->second), form[1] - '0');
  }
  if (form.size() == 2 && form[0] == '%') {
    return Concat(Fixed(100 * NumberOf(found->second), form[1] - '0'), "%");
  }
  return base::InvalidArgumentError(Concat("{", place, "}: a form is as .3f or %2"));
}

}  // namespace

std::string TextOf(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return base::PythonDoubleText(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

bool IsTrue(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer != 0;
  if (const auto* real = std::get_if<double>(&value)) return *real != 0;
  if (const auto* text = std::get_if<std::string>(&value)) {
    return !text->empty() && *text != "false";
  }
  return false;
}

double NumberOf(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return 0;
}

Result<std::string> Fill(std::string_view text, const Values& values) {
  std::string out;
  while (!text.empty()) {
    const size_t open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const size_t end = EndOfPlace(text, 0);
    if (end == std::string_view::npos) {
      out += '{';
      text.remove_prefix(1);
      continue;
    }
    SONDE_ASSIGN_OR_RETURN(const std::string written, Written(text.substr(1, end - 1), values));
    out += written;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace sonde::advisor

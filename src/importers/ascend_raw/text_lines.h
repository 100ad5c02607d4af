// Lines of text that samplers wrote: words between blanks. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/strings.h"

namespace sonde::importers::raw {

// The words live in the line.
inline std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words = base::Split(line, ' ');
  for (std::string_view& word : words) word = base::Trim(word);
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  return words;
}

}  // namespace sonde::importers::raw

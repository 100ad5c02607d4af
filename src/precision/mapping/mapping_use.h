// Which lines of a user's mapping file had an effect, over all dumps of one run: a line that fits
// no name, or leads to a name that is nowhere, would else be passed over in silence.
//
// Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sonde::precision {

class MappingUse {
 public:
  // A line of a file, as it is shown to the user, with or without an effect so far. `fits`: some
  // name of the target dump is mapped by it; `meets`: and the golden dump has the new name.
  void Mark(const std::string& line, bool fits, bool meets);
  void Merge(const MappingUse& other);

  // A sentence for each line without an effect, in the order of the files; many are cut short.
  std::vector<std::string> Notes() const;

 private:
  struct Line {
    std::string text;
    bool fits = false;
    bool meets = false;
  };
  std::vector<Line> lines_;
  std::unordered_map<std::string, size_t> index_;
};

// "cells.yaml: 'old: new'".
std::string LineText(std::string_view path, std::string_view from, std::string_view to);

}  // namespace sonde::precision

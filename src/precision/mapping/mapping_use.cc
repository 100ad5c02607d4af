#include "precision/mapping/mapping_use.h"

#include "base/strings.h"

namespace sonde::precision {

using base::Concat;

void MappingUse::Mark(const std::string& line, bool fits, bool meets) {
  const auto [found, is_new] = index_.try_emplace(line, lines_.size());
  if (is_new) lines_.push_back({line});
  Line& known = lines_[found->second];
  known.fits = known.fits || fits;
  known.meets = known.meets || meets;
}

void MappingUse::Merge(const MappingUse& other) {
  for (const Line& line : other.lines_) Mark(line.text, line.fits, line.meets);
}

std::vector<std::string> MappingUse::Notes() const {
  constexpr size_t kShown = 8;
  std::vector<std::string> notes;
  size_t unmet = 0;
  for (const Line& line : lines_) {
    if (line.meets || ++unmet > kShown) continue;
    notes.push_back(Concat(line.text, line.fits ? " gives names that the golden dump does not have"
                                                : " fits no name of the target dump"));
  }
  if (unmet > kShown) {
    notes.push_back(
        Concat(std::to_string(unmet - kShown), " more lines of mappings have no effect"));
  }
  return notes;
}

std::string LineText(std::string_view path, std::string_view from, std::string_view to) {
  return Concat(path, ": '", from, ": ", to, "'");
}

}  // namespace sonde::precision

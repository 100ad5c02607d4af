// Importers' advice about their issues, in both languages. Pure, any thread.
#pragma once

#include <string_view>
#include <vector>

namespace sonde::recipes {

struct Advice {
  std::string_view english;  // as the table import_issue has it
  std::string_view chinese;
};
std::vector<Advice> KnownAdvice();

}  // namespace sonde::recipes

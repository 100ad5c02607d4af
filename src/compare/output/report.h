// A comparison as a whole: its sheets and their sides.
#pragma once

#include <string>
#include <vector>

#include "compare/frame/sheet.h"
#include "compare/verdict/verdict.h"

namespace sonde::compare {

struct Report {
  std::string base_path;
  std::string comparison_path;
  std::vector<Sheet> sheets;  // those with rows, as the reference knows them
  std::vector<Sheet> more;    // of ours: in databases and csv
  Judgement judgement;
  std::string table;  // of the terminal
  std::vector<std::string> notices;
};

}  // namespace sonde::compare

// Cells of a mode's tables as text files and workbooks show them. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "cluster/frame/table.h"

namespace sonde::cluster {

// The columns of text forms.
struct Shown {
  size_t column;
  TextColumn text;
};
std::vector<Shown> ShownColumns(const TableInfo& info);

std::string CellText(const Cell& cell, double divisor);

}  // namespace sonde::cluster

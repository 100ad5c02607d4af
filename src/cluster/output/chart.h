// A chart of a table, as SVG: boxes (least, quartiles, greatest) where it has them, else bars of
// its first measure. Pure, any thread.
#pragma once

#include <string>

#include "cluster/frame/table.h"

namespace sonde::cluster {

// Of the first rows; "" where the table has nothing to draw.
std::string ChartSvg(const Table& table);

}  // namespace sonde::cluster

// The list of exporters.
#pragma once

#include <span>
#include <string_view>

#include "exporters/exporter.h"

namespace sonde::exporters {

std::span<const Exporter> Exporters();
// Null where there is none of that name.
const Exporter* FindExporter(std::string_view name);

}  // namespace sonde::exporters

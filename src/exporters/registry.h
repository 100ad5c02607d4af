// The list of exporters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "exporters/exporter.h"

namespace sonde::exporters {

std::span<const Exporter> Exporters();
// Null where there is none of that name.
const Exporter* FindExporter(std::string_view name);
// That the files of a trace take on disk, at the least.
uint64_t LeastBytesOf(const Exporter& exporter, const recipes::TraceData& data);
// Whether an exporter that may use `threads` (0: all processors) leaves one for parallel work.
bool LeavesIdle(const Exporter& exporter, int threads);

}  // namespace sonde::exporters

// A Kineto trace (<name>.<time>.pt.trace.json), as torch.profiler writes it on a machine with a
// GPU.
//
// For TensorBoard's plugin, HolisticTraceAnalysis and whatever else reads those traces. Where the
// CPU is the device, its tasks are shown the way these tools know device work: as kernels on
// streams, each with a launch (cuda_runtime) and a correlation number; collectives as kernels named
// ncclDevKernel_<kind>, since the tools find communication by that name. The file lies in the span
// folder, next to ASCEND_PROFILER_OUTPUT. Streams count from 1: 0 means the host to those tools.
#pragma once

#include "exporters/exporter.h"

namespace sonde::exporters {

Status ExportKineto(const ExportContext& context);

}  // namespace sonde::exporters

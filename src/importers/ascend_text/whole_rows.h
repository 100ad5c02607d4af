// A timeline as rows in memory, to which another source adds slices: a stage alone would write its
// slices itself, with final numbers.
//
// One thread. Memory: that of TraceRows, in addition to the stage.
#pragma once

#include <vector>

#include "importers/ascend_raw/beside_export.h"
#include "importers/rows/trace_rows.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers::text_import {

// Processes, threads, tracks, slices, counters' tracks, flows and marks of an arranged stage.
// `rows` shares its names, issues and pool, is empty and begins with track 0; slices have the
// numbers that they have in the stage. Arguments of slices and values of counters stay there:
// EventStage::Commit and WriteCounters write them, whose tracks keep their numbers.
void TakeStage(const trace_events::EventStage& stage, TraceRows& rows);

// Launch points of slices, from the arrows that lead to them: those of level 0 begin where no call
// is recorded.
std::vector<LaunchPoint> LaunchPoints(const trace_events::EventStage& stage);

}  // namespace sonde::importers::text_import

// A timeline as rows that all lie in memory, for what another source adds slices to: a stage writes
// its slices by itself, numbered for good.
//
// One thread. Memory: that of TraceRows, beside what the stage holds.
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

// Where slices were launched, as the arrows that lead to them say: those of level 0 begin where no
// call is told.
std::vector<LaunchPoint> LaunchPoints(const trace_events::EventStage& stage);

}  // namespace sonde::importers::text_import

// The last part of an import of trace events: all tables into the store, the slices in parallel
// with the rest.
#pragma once

#include <functional>

#include "base/status.h"
#include "importers/importer.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

// Fills the tables that are specific to the format; may intern texts. May count into the summary.
using WriteMore = std::function<Status(store::Transaction& transaction, ImportSummary& summary)>;

// Steps of the format; each may be null.
struct FinishSteps {
  // Comes before the others, in parallel with the writing of slices, flows and counters: it must
  // not change these or the numbers of tracks.
  std::function<Status()> prepare = nullptr;
  // Then this, in the transaction of the texts.
  WriteMore more = nullptr;
  // In parallel with `more`, after `prepare`: neither interns texts nor counts issues.
  std::function<Status(store::Transaction& transaction)> parallel = nullptr;
};

// Writes the rows of `stage` and of the steps, then metadata, issues and texts.
Result<ImportSummary> Finish(EventStage& stage, store::Store& store, const ImportOptions& options,
                             const FinishSteps& steps);

}  // namespace sonde::importers::trace_events

// The last part of an import of trace events: all tables into the store, the slices beside the
// rest.
#pragma once

#include <functional>

#include "base/status.h"
#include "importers/importer.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

// Fills the tables that the format knows more about; may intern texts. May count into the summary.
using WriteMore = std::function<Status(store::Transaction& transaction, ImportSummary& summary)>;

// What the format adds; each may be null.
struct FinishSteps {
  // Comes before the others, beside the writing of slices, flows and counters: it must leave these
  // and the numbers of tracks as they are.
  std::function<Status()> prepare = nullptr;
  // Then this, in the transaction of the texts.
  WriteMore more = nullptr;
  // Beside `more`, after `prepare`: neither interns texts nor counts issues.
  std::function<Status(store::Transaction& transaction)> beside = nullptr;
};

// Writes what `stage` holds and what the steps add, then metadata, issues and texts.
Result<ImportSummary> Finish(EventStage& stage, store::Store& store, const ImportOptions& options,
                             const FinishSteps& steps);

}  // namespace sonde::importers::trace_events

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

// Writes what `stage` holds and what `more` adds (may be null), then metadata, issues and texts.
Result<ImportSummary> Finish(EventStage& stage, store::Store& store, const ImportOptions& options,
                             const WriteMore& more);

}  // namespace sonde::importers::trace_events

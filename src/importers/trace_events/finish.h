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
// `prepare` (may be null) comes before everything but the slices, which are written beside it: it
// must leave slices and the numbers of tracks as they are.
Result<ImportSummary> Finish(EventStage& stage, store::Store& store, const ImportOptions& options,
                             const WriteMore& more,
                             const std::function<Status()>& prepare = nullptr);

}  // namespace sonde::importers::trace_events

#include "importers/trace_events/finish.h"

#include "base/host/parallel.h"
#include "importers/import_watch.h"
#include "store/table_writer.h"

namespace sonde::importers::trace_events {
namespace {

Status WriteMetadata(const EventStage& stage, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::MetadataRow>::Open(transaction));
  for (const auto& [key, value] : stage.metadata()) {
    const std::string valid_key = store::ToValidUtf8(key);
    const std::string valid_value = store::ToValidUtf8(value);
    writer.Append({.process_id = store::kNone, .key = valid_key, .value = valid_value});
  }
  return writer.Close();
}

Status WriteSlices(const EventStage& stage, store::Store& store) {
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  Status written;
  SONDE_RETURN_IF_ERROR(store.MakeZoomIndex(
      [&](store::ZoomWriter& zoom) { written = stage.WriteSlices(transaction, zoom); }));
  SONDE_RETURN_IF_ERROR(written);
  return transaction.Commit();
}

Status WriteCounters(const EventStage& stage, store::Store& store) {
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_RETURN_IF_ERROR(stage.WriteCounters(transaction));
  return transaction.Commit();
}

Status WriteRest(EventStage& stage, store::Store& store, const WriteMore& more,
                 ImportSummary& summary) {
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_RETURN_IF_ERROR(stage.WriteRest(transaction));
  if (more) SONDE_RETURN_IF_ERROR(more(transaction, summary));
  SONDE_RETURN_IF_ERROR(WriteMetadata(stage, transaction));
  SONDE_RETURN_IF_ERROR(stage.issues().Write(transaction, stage.names()));
  SONDE_RETURN_IF_ERROR(stage.names().Write(transaction));
  return transaction.Commit();
}

}  // namespace

Result<ImportSummary> Finish(EventStage& stage, store::Store& store, const ImportOptions& options,
                             const WriteMore& more, const std::function<Status()>& prepare) {
  if (options.watch != nullptr) {
    if (options.watch->cancelled()) return base::CancelledError("the import was cancelled");
    options.watch->ExpectRows(static_cast<uint64_t>(stage.slice_count()));
  }
  ImportSummary summary;
  Status beside;  // what needs no new texts
  base::TaskGroup group(options.threads);
  group.Run([&] {
    beside = WriteSlices(stage, store);
    if (beside.ok()) beside = WriteCounters(stage, store);
    if (beside.ok()) beside = stage.Commit();
  });
  Status rest = prepare ? prepare() : Status();
  if (rest.ok()) rest = WriteRest(stage, store, more, summary);
  group.Wait();
  SONDE_RETURN_IF_ERROR(beside);
  SONDE_RETURN_IF_ERROR(rest);
  summary.rank = stage.rank();
  summary.slices = stage.slice_count();
  summary.begin_ns = stage.first_ns();
  summary.end_ns = stage.last_ns();
  summary.issues = stage.issues().list();
  return summary;
}

}  // namespace sonde::importers::trace_events

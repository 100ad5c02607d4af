#include "importers/trace_events/finish.h"

#include <deque>
#include <utility>

#include "base/host/json_writer.h"
#include "base/host/parallel.h"
#include "importers/import_watch.h"
#include "store/table_writer.h"

namespace sonde::importers::trace_events {
namespace {

Status WriteMetadata(EventStage& stage, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::MetadataRow>::Open(transaction));
  for (const ProcessFact& fact : stage.facts()) {
    const std::string key = store::ToValidUtf8(fact.key);
    const std::string value = store::ToValidUtf8(fact.json);
    const auto process = static_cast<size_t>(fact.process);
    writer.Append({stage.arrangement().process_ids[process], key, value});
  }
  // Names have a column of their own.
  const std::deque<ProcessEntry>& processes = stage.tracks().processes;
  for (size_t i = 0; i < processes.size(); ++i) {
    const int32_t process_id = stage.arrangement().process_ids[i];
    if (process_id < 0 || processes[i].labels < 0) continue;
    const std::string labels =
        store::ToValidUtf8(base::JsonQuote(stage.names().Text(processes[i].labels)));
    writer.Append({process_id, "process_labels", labels});
  }
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

template <class Write>
Status InTransaction(store::Store& store, const Write& write) {
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_RETURN_IF_ERROR(write(transaction));
  return transaction.Commit();
}

// The parts of a store, large ones in parallel.
class Writer {
 public:
  Writer(EventStage& stage, store::Store& store, int threads)
      : stage_(stage), store_(store), flows_(threads), group_(threads) {}

  Status Run(const FinishSteps& steps, ImportSummary& summary) {
    stage_.NameFlows();
    flows_.Run([this] {
      flows_written_ = InTransaction(store_, [this](store::Transaction& transaction) {
        return stage_.WriteFlows(transaction);
      });
    });
    Start([this] { return WriteSlices(stage_, store_); });
    Start([this] {
      return InTransaction(store_, [this](store::Transaction& transaction) {
        return stage_.WriteCounters(transaction);
      });
    });
    Start([this] { return stage_.Commit(); });
    Status status = steps.prepare ? steps.prepare() : Status();
    if (status.ok() && steps.parallel) {
      Start([this, &steps] { return InTransaction(store_, steps.parallel); });
    }
    if (status.ok()) status = WriteRest(steps.more, summary);
    flows_.Wait();
    group_.Wait();
    SONDE_RETURN_IF_ERROR(status);
    for (const Status& written : parallel_) SONDE_RETURN_IF_ERROR(written);
    return {};
  }

 private:
  void Start(std::function<Status()> write) {
    Status& written = parallel_.emplace_back();
    group_.Run([&written, write = std::move(write)] { written = write(); });
  }

  Status WriteRest(const WriteMore& more, ImportSummary& summary) {
    return InTransaction(store_, [&](store::Transaction& transaction) -> Status {
      SONDE_RETURN_IF_ERROR(stage_.WriteRest(transaction));
      if (more) SONDE_RETURN_IF_ERROR(more(transaction, summary));
      SONDE_RETURN_IF_ERROR(WriteMetadata(stage_, transaction));
      flows_.Wait();
      SONDE_RETURN_IF_ERROR(flows_written_);
      stage_.CountFlows();
      stage_.issues().AddGarbled(stage_.names(), stage_.path());
      SONDE_RETURN_IF_ERROR(stage_.issues().Write(transaction, stage_.names()));
      return stage_.names().Write(transaction);
    });
  }

  EventStage& stage_;
  store::Store& store_;
  Status flows_written_;
  std::deque<Status> parallel_;  // of the tasks in the group
  base::TaskGroup flows_;
  base::TaskGroup group_;
};

}  // namespace

Result<ImportSummary> Finish(EventStage& stage, store::Store& store, const ImportOptions& options,
                             const FinishSteps& steps) {
  if (options.watch != nullptr) {
    if (options.watch->cancelled()) return base::CancelledError("the import was cancelled");
    options.watch->ExpectRows(static_cast<uint64_t>(stage.slice_count()));
  }
  ImportSummary summary;
  SONDE_RETURN_IF_ERROR(Writer(stage, store, options.threads).Run(steps, summary));
  summary.rank = stage.rank();
  summary.slices = stage.slice_count();
  summary.begin_ns = stage.first_ns();
  summary.end_ns = stage.last_ns();
  summary.issues = stage.issues().list();
  return summary;
}

}  // namespace sonde::importers::trace_events

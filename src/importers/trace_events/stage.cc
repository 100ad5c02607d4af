#include "importers/trace_events/stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "importers/import_watch.h"
#include "importers/trace_events/collector.h"
#include "importers/trace_events/flow_pairs.h"
#include "importers/trace_events/issues.h"
#include "importers/trace_events/piece_run.h"
#include "importers/trace_events/reader.h"

namespace sonde::importers::trace_events {
namespace {

// Of staged events, in plain memory; a trace of 170 MB needs about as much.
constexpr size_t kKeepBytes = size_t{64} << 20U;

}  // namespace

Arrangement::Arrangement(base::SpillPool* pool)
    : by_slice(base::SpillAllocator<uint32_t>(pool)),
      parents(base::SpillAllocator<int32_t>(pool)),
      depths(base::SpillAllocator<uint16_t>(pool)),
      preorder(base::SpillAllocator<int32_t>(pool)) {}

void Staged::Append(Staged&& later) {
  const uint32_t behind = slices.end_place();
  later.edges.ForEach([&](uint32_t, RangeEdge& edge) { edge.slice += behind; });
  slices.Append(std::move(later.slices));
  instants.Append(std::move(later.instants));
  counters.Append(std::move(later.counters));
  flows.Append(std::move(later.flows));
  edges.Append(std::move(later.edges));
}

EventStage::EventStage(store::Store* store, const Dialect& dialect, const ImportOptions& options)
    : store_(store),
      dialect_(dialect),
      options_(options),
      pool_({.folder = store != nullptr ? std::string(base::DirName(store->path())) : "/tmp",
             .keep_bytes = kKeepBytes}),
      arena_(&pool_),
      names_(&pool_),
      staged_(&arena_),
      joined_arguments_(base::SpillAllocator<JoinedArguments>(&pool_)),
      arrangement_(&pool_) {}

EventStage::~EventStage() = default;

Status EventStage::Read(const std::string& path) {
  path_ = path;
  bool cut_wrongly = false;
  // The events of a further file cannot be discarded alone: it is never cut in pieces.
  const size_t first = collectors_.size();
  const int readers = first == 0 ? std::max(1, options_.threads) : 0;
  SONDE_RETURN_IF_ERROR(ReadFile(path, readers, cut_wrongly));
  if (cut_wrongly) {
    // A place that looked like one between two events was none (events inside of arguments): the
    // events are discarded, and one reader takes the whole file.
    collectors_.clear();
    transactions_.clear();
    tracks_.Clear();
    staged_ = Staged(&arena_);
    issues_ = {};
    metadata_.clear();
    SONDE_RETURN_IF_ERROR(ReadFile(path, 0, cut_wrongly));
  }
  for (size_t i = first; i < collectors_.size(); ++i) {
    Collector& collector = *collectors_[i];
    collector.issues().MergeInto(issues_);
    std::move(collector.facts().begin(), collector.facts().end(), std::back_inserter(facts_));
    if (collector.bad_sets() > 0) issues_.Add(kBadArguments, path, -1, collector.bad_sets());
  }
  std::sort(facts_.begin(), facts_.end(),
            [](const ProcessFact& a, const ProcessFact& b) { return a.position < b.position; });
  for (auto& fact : collectors_[first]->metadata()) metadata_.push_back(std::move(fact));
  return {};
}

Status EventStage::ReadFile(const std::string& path, int readers, bool& cut_wrongly) {
  cut_wrongly = false;
  SONDE_ASSIGN_OR_RETURN(const auto source, TextSource::Open(path, issues_));
  if (options_.watch != nullptr) {
    constexpr uint64_t kPacking = 10;  // of a trace, about
    const uint64_t size = base::FileSize(path).value_or(0);
    options_.watch->Expect(source->packed() ? size * kPacking : size);
  }
  const bool in_pieces = readers > 0 && PieceRun::IsWorthwhile(*source);
  const size_t first = collectors_.size();
  for (int i = 0; i < (in_pieces ? readers : 1); ++i) {
    collectors_.push_back(
        std::make_unique<Collector>(*this, static_cast<uint32_t>(collectors_.size())));
    if (store_ == nullptr) continue;
    SONDE_ASSIGN_OR_RETURN(auto transaction, store_->Begin());
    transactions_.push_back(std::make_unique<store::Transaction>(std::move(transaction)));
    SONDE_RETURN_IF_ERROR(collectors_.back()->Open(*transactions_.back()));
  }
  ArrayRunner runner;
  if (in_pieces) {
    runner = [&](const Window& window) -> Result<const char*> {
      PieceRun run(window, *source, path);
      SONDE_RETURN_IF_ERROR(run.Run(collectors_));
      const char* end = run.Join(staged_);
      cut_wrongly = run.cut_wrongly();
      return end;
    };
  }
  SONDE_RETURN_IF_ERROR(ReadTraceText(*source, path, *collectors_[first], issues_, runner));
  staged_.Append(collectors_[first]->TakeStaged());
  return {};
}

Status EventStage::WriteArguments() {
  if (std::exchange(arguments_are_written_, true)) return {};
  for (auto& collector : collectors_) SONDE_RETURN_IF_ERROR(collector->Close());
  for (auto& transaction : transactions_) SONDE_RETURN_IF_ERROR(transaction->Commit());
  return {};
}

Status EventStage::Commit() {
  SONDE_RETURN_IF_ERROR(WriteArguments());
  return joined_arguments_.empty() ? Status() : WriteJoinedArguments();
}

CapturedSet EventStage::CapturedOf(const StagedSlice& slice) const {
  return collectors_[slice.reader]->captured().At(slice.captured);
}

CapturedSet EventStage::CapturedOf(const InstantEvent& instant) const {
  return collectors_[instant.reader]->captured().At(instant.captured);
}

}  // namespace sonde::importers::trace_events

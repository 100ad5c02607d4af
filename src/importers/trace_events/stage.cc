#include "importers/trace_events/stage.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "importers/import_watch.h"
#include "importers/trace_events/collector.h"
#include "importers/trace_events/flow_pairs.h"
#include "importers/trace_events/issues.h"
#include "importers/trace_events/reader.h"

namespace sonde::importers::trace_events {
namespace {

// Of staged events, in plain memory; a trace of 250 MB needs about as much.
constexpr size_t kKeepBytes = size_t{96} << 20U;
constexpr ptrdiff_t kPieceBytes = ptrdiff_t{4} << 20U;

// The events of a plain file, cut in pieces that several readers take in turn.
class PieceRun {
 public:
  PieceRun(const Window& window, const TextSource& source, const std::string& path)
      : window_(window), source_(source), path_(path) {
    const auto count = (window.end - window.begin + kPieceBytes - 1) / kPieceBytes;
    pieces_.resize(static_cast<size_t>(std::max<ptrdiff_t>(count, 1)));
  }

  void Run(std::vector<std::unique_ptr<Collector>>& collectors) {
    base::ParallelFor(collectors.size(), {.max_threads = static_cast<int>(collectors.size())},
                      [&](size_t begin, size_t end) {
                        for (size_t i = begin; i < end; ++i) Work(*collectors[i]);
                      });
  }

  Status status() const {
    for (const Piece& piece : pieces_) SONDE_RETURN_IF_ERROR(piece.status);
    return {};
  }
  bool cut_wrongly() const { return cut_wrongly_; }

  // Joins the pieces; returns where the array ends.
  const char* Join(Staged& staged) {
    const char* end = window_.end;
    bool ended = false;
    for (Piece& piece : pieces_) {
      if (piece.begin == nullptr) continue;
      if (ended) cut_wrongly_ = true;
      if (piece.staged) staged.Append(std::move(*piece.staged));
      piece.staged.reset();
      ended = piece.end != EventArrayReader::End::kStop;
      end = piece.position;
    }
    return end;
  }

 private:
  struct Piece {
    const char* begin = nullptr;
    const char* position = nullptr;
    EventArrayReader::End end = EventArrayReader::End::kStop;
    std::optional<Staged> staged;
    Status status;
  };

  void Work(Collector& collector) {
    for (size_t i = next_++; i < pieces_.size() && !cut_wrongly_; i = next_++) {
      const char* begin = Boundary(i);
      const char* stop = Boundary(i + 1);
      if (begin == nullptr || begin == stop) continue;
      RunPiece(pieces_[i], begin, stop, collector);
    }
  }

  void RunPiece(Piece& piece, const char* begin, const char* stop, Collector& collector) {
    Window window = window_;
    window.offset += static_cast<uint64_t>(begin - window.begin);
    window.begin = begin;
    piece.begin = begin;
    EventArrayReader reader(window, nullptr, path_, collector, collector.issues());
    piece.status = reader.Run(stop);
    piece.end = reader.end();
    piece.position = reader.position();
    piece.staged = collector.TakeStaged();
    if (piece.end == EventArrayReader::End::kStop && piece.position != stop) cut_wrongly_ = true;
    source_.ForgetPiece(begin, piece.position);
  }

  // Where piece `i` begins; null where no event begins behind its place.
  const char* Boundary(size_t i) const {
    if (i == 0) return window_.begin;
    const ptrdiff_t offset = static_cast<ptrdiff_t>(i) * kPieceBytes;
    if (offset >= window_.end - window_.begin) return nullptr;
    return FindEventBoundary(window_.begin + offset, window_.end);
  }

  Window window_;
  const TextSource& source_;
  const std::string& path_;
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> cut_wrongly_ = false;
};

}  // namespace

Arrangement::Arrangement(base::SpillPool* pool)
    : by_slice(base::SpillAllocator<uint32_t>(pool)),
      parents(base::SpillAllocator<int32_t>(pool)),
      depths(base::SpillAllocator<uint16_t>(pool)),
      preorder(base::SpillAllocator<int32_t>(pool)) {}

void Staged::Append(Staged&& later) {
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
  // What a further file gives cannot be thrown away by itself: it is never cut in pieces.
  const size_t first = collectors_.size();
  const int threads = first == 0 ? std::max(1, options_.threads) : 1;
  SONDE_RETURN_IF_ERROR(ReadPieces(path, threads, cut_wrongly));
  if (cut_wrongly) {
    // A place that looked like one between two events was none (events inside of arguments): what
    // was read is thrown away, and one reader takes the whole file.
    collectors_.clear();
    transactions_.clear();
    tracks_.Clear();
    staged_ = Staged(&arena_);
    issues_ = {};
    metadata_.clear();
    SONDE_RETURN_IF_ERROR(ReadPieces(path, 1, cut_wrongly));
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

Status EventStage::ReadPieces(const std::string& path, int threads, bool& cut_wrongly) {
  cut_wrongly = false;
  SONDE_ASSIGN_OR_RETURN(const auto source, TextSource::Open(path, issues_));
  const Window& whole = source->window();
  if (options_.watch != nullptr) {
    constexpr uint64_t kPacking = 10;  // of a trace, about
    const uint64_t size = base::FileSize(path).value_or(0);
    options_.watch->Expect(source->packed() ? size * kPacking : size);
  }
  const bool in_pieces = !source->packed() && threads > 1 && whole.end - whole.begin > kPieceBytes;
  const size_t first = collectors_.size();
  for (int i = 0; i < (in_pieces ? threads : 1); ++i) {
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
      run.Run(collectors_);
      SONDE_RETURN_IF_ERROR(run.status());
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

CapturedSet EventStage::CapturedOf(int32_t slice_id) const {
  const StagedSlice& slice = Slice(slice_id);
  return collectors_[slice.reader]->captured().At(slice.captured);
}

CapturedSet EventStage::CapturedOf(const InstantEvent& instant) const {
  return collectors_[instant.reader]->captured().At(instant.captured);
}

}  // namespace sonde::importers::trace_events

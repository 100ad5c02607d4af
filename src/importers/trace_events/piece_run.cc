#include "importers/trace_events/piece_run.h"

#include <algorithm>
#include <utility>

#include "base/host/parallel.h"

namespace sonde::importers::trace_events {
namespace {

constexpr ptrdiff_t kPieceBytes = ptrdiff_t{4} << 20U;
// Copied behind a piece, since its last event ends there.
constexpr ptrdiff_t kBehindBytes = ptrdiff_t{64} << 10U;

}  // namespace

bool PieceRun::IsWorthwhile(const TextSource& source) {
  return !source.packed() && source.window().end - source.window().begin > kPieceBytes;
}

PieceRun::PieceRun(const Window& window, const TextSource& source, const std::string& path)
    : window_(window), source_(source), path_(path) {
  const auto count = (window.end - window.begin + kPieceBytes - 1) / kPieceBytes;
  pieces_.resize(static_cast<size_t>(std::max<ptrdiff_t>(count, 1)));
}

Status PieceRun::Run(std::vector<std::unique_ptr<Collector>>& collectors) {
  base::ParallelFor(collectors.size(), {.max_threads = static_cast<int>(collectors.size())},
                    [&](size_t begin, size_t end) {
                      for (size_t i = begin; i < end; ++i) Work(*collectors[i]);
                    });
  for (const Piece& piece : pieces_) SONDE_RETURN_IF_ERROR(piece.status);
  return {};
}

const char* PieceRun::Join(Staged& staged) {
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

void PieceRun::Work(Collector& collector) {
  Copy copy;
  copy.text = std::make_unique_for_overwrite<char[]>(kPieceBytes + kBehindBytes);
  for (size_t i = next_++; i < pieces_.size() && !cut_wrongly_; i = next_++) {
    Take(i, copy);
    const char* begin = Boundary(i, copy);
    const char* stop = Boundary(i + 1, copy);
    if (begin == nullptr || begin == stop) continue;
    RunPiece(pieces_[i], begin, stop, copy, collector);
    if (!pieces_[i].status.ok()) return;
  }
}

void PieceRun::Take(size_t index, Copy& copy) const {
  copy.of = window_.begin + static_cast<ptrdiff_t>(index) * kPieceBytes;
  const ptrdiff_t size = std::min(window_.end - copy.of, kPieceBytes + kBehindBytes);
  const uint64_t offset = window_.offset + static_cast<uint64_t>(copy.of - window_.begin);
  copy.size = source_.Copy(offset, {copy.text.get(), static_cast<size_t>(size)});
}

// Where the piece begins, in the window; null where no event begins behind its place. Found in the
// copy, or, where that ends too soon, in the window: the place is the same.
const char* PieceRun::Boundary(size_t index, const Copy& copy) const {
  if (index == 0) return window_.begin;
  const ptrdiff_t offset = static_cast<ptrdiff_t>(index) * kPieceBytes;
  if (offset >= window_.end - window_.begin) return nullptr;
  const char* const place = window_.begin + offset;
  const auto skipped = static_cast<size_t>(place - copy.of);
  if (skipped < copy.size) {
    const char* const text = copy.text.get();
    const char* found = FindEventBoundary(text + skipped, text + copy.size);
    if (found != nullptr) return copy.of + (found - text);
  }
  return FindEventBoundary(place, window_.end);
}

// Read from the copy where it reaches beyond the piece, so that its end can be seen.
void PieceRun::RunPiece(Piece& piece, const char* begin, const char* stop, const Copy& copy,
                        Collector& collector) {
  const char* const copy_end = copy.of + copy.size;
  const bool is_copied = stop != nullptr ? stop < copy_end : copy_end == window_.end;
  const char* const from = is_copied ? copy.text.get() : copy.of;  // stands for copy.of
  Window window = window_;
  window.offset += static_cast<uint64_t>(begin - window.begin);
  window.begin = from + (begin - copy.of);
  if (is_copied) window.end = from + copy.size;
  piece.begin = begin;
  EventArrayReader reader(window, nullptr, path_, collector, collector.issues());
  piece.status = reader.Run(stop != nullptr ? from + (stop - copy.of) : nullptr);
  piece.end = reader.end();
  piece.position = copy.of + (reader.position() - from);
  piece.staged = collector.TakeStaged();
  if (piece.end == EventArrayReader::End::kStop && piece.position != stop) cut_wrongly_ = true;
  if (!is_copied) source_.ForgetPiece(begin, piece.position);
}

}  // namespace sonde::importers::trace_events

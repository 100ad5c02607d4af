#include "importers/trace_events/piece_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/host/parallel.h"

namespace sonde::importers::trace_events {
namespace {

constexpr ptrdiff_t kPieceBytes = ptrdiff_t{4} << 20U;
// Read behind a piece, since its last event ends there.
constexpr uint64_t kBehindBytes = uint64_t{64} << 10U;
constexpr size_t kBoundaryBytes = size_t{4} << 10U;

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
  PieceSource text(source_);
  for (size_t i = next_++; i < pieces_.size() && !cut_wrongly_; i = next_++) {
    const uint64_t begin = Boundary(i);
    const uint64_t stop = Boundary(i + 1);
    if (begin == EventArrayReader::kNoStop || begin == stop) continue;
    RunPiece(pieces_[i], begin, stop, text, collector);
    if (!pieces_[i].status.ok()) return;
  }
}

// Offset in the file of the first event of a piece; kNoStop where no event begins behind its place.
// Searched in a few kilobytes first, then in the rest.
uint64_t PieceRun::Boundary(size_t index) const {
  if (index == 0) return window_.offset;
  const ptrdiff_t skipped = static_cast<ptrdiff_t>(index) * kPieceBytes;
  if (skipped >= window_.end - window_.begin) return EventArrayReader::kNoStop;
  const uint64_t place = window_.offset + static_cast<uint64_t>(skipped);
  std::array<char, kBoundaryBytes> near;
  const size_t size =
      std::min(near.size(), static_cast<size_t>(window_.end - window_.begin - skipped));
  const char* const near_end = near.data() + source_.Copy(place, {near.data(), size});
  const char* found = FindEventBoundary(near.data(), near_end);
  if (found != nullptr) return place + static_cast<uint64_t>(found - near.data());
  const char* const begin = window_.begin + skipped;
  found = FindEventBoundary(begin, window_.end);
  source_.ForgetPiece(begin, found != nullptr ? found : window_.end);
  if (found == nullptr) return EventArrayReader::kNoStop;
  return place + static_cast<uint64_t>(found - begin);
}

void PieceRun::RunPiece(Piece& piece, uint64_t begin, uint64_t stop, PieceSource& text,
                        Collector& collector) {
  // Somewhat beyond the piece, so that its end can be seen.
  const uint64_t file_end = window_.offset + static_cast<uint64_t>(window_.end - window_.begin);
  text.Open(begin, file_end - kBehindBytes > stop ? stop + kBehindBytes : file_end);
  EventArrayReader reader(text.window(), &text, path_, collector, collector.issues());
  piece.status = reader.Run(stop);
  piece.end = reader.end();
  piece.begin = window_.begin + (begin - window_.offset);
  piece.position = window_.begin + (reader.offset() - window_.offset);
  piece.staged = collector.TakeStaged();
  if (piece.end == EventArrayReader::End::kStop && reader.offset() != stop) cut_wrongly_ = true;
}

}  // namespace sonde::importers::trace_events

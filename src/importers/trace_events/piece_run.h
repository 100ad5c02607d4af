// The events of a plain file, cut in pieces that readers take in turn.
//
// The begin of a piece is a guess from the text there; whether all guesses were right is known at
// the end (cut_wrongly), and if not, the file has to be read again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/trace_events/collector.h"
#include "importers/trace_events/piece_source.h"
#include "importers/trace_events/reader.h"
#include "importers/trace_events/source.h"
#include "importers/trace_events/staged_events.h"

namespace sonde::importers::trace_events {

class PieceRun {
 public:
  // Whether the source can be cut, and is large enough.
  static bool IsWorthwhile(const TextSource& source);

  // The window begins behind the bracket that opens the array. All must outlive the run.
  PieceRun(const Window& window, const TextSource& source, const std::string& path);

  // One thread for each collector.
  Status Run(std::vector<std::unique_ptr<Collector>>& collectors);
  // Joins the pieces; returns where the array ends.
  const char* Join(Staged& staged);
  bool cut_wrongly() const { return cut_wrongly_; }

 private:
  struct Piece {
    const char* begin = nullptr;
    const char* position = nullptr;
    EventArrayReader::End end = EventArrayReader::End::kStop;
    std::optional<Staged> staged;
    Status status;
  };
  void Work(Collector& collector);
  uint64_t Boundary(size_t index) const;
  void RunPiece(Piece& piece, uint64_t begin, uint64_t stop, PieceSource& text,
                Collector& collector);

  Window window_;
  const TextSource& source_;
  const std::string& path_;
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> cut_wrongly_ = false;
};

}  // namespace sonde::importers::trace_events

// The events of a plain file, cut in pieces that readers take in turn.
//
// Each piece is copied into memory that its reader has at hand, which stays in the processor's
// cache. Where a piece begins is a guess, from what stands there; whether all guesses were right is
// known at the end (cut_wrongly), and if not, the whole was read in vain.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/trace_events/collector.h"
#include "importers/trace_events/reader.h"
#include "importers/trace_events/source.h"
#include "importers/trace_events/staged_events.h"

namespace sonde::importers::trace_events {

class PieceRun {
 public:
  // Whether the source can be cut, and is large enough for it.
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
  // A part of the window that was copied.
  struct Copy {
    const char* of = nullptr;
    std::unique_ptr<char[]> text;
    size_t size = 0;
  };

  void Work(Collector& collector);
  void Take(size_t index, Copy& copy) const;
  const char* Boundary(size_t index, const Copy& copy) const;
  void RunPiece(Piece& piece, const char* begin, const char* stop, const Copy& copy,
                Collector& collector);

  Window window_;
  const TextSource& source_;
  const std::string& path_;
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> cut_wrongly_ = false;
};

}  // namespace sonde::importers::trace_events

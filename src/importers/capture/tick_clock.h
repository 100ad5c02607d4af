// Converts ticks of a capture to nanoseconds of the Unix epoch.
//
// Between two clock samples the rate is constant (piecewise linear through CLOCK_MONOTONIC_RAW),
// outside the rate of the nearest piece is used. One offset ties the monotonic clock to real time
// for the whole capture, so steps of the wall clock do not bend durations. Captures of one boot of
// a machine can share it, so that they stay aligned (ClockOffsets). Monotone: a <= b gives ToNs(a)
// <= ToNs(b), so ranges that nest in ticks nest in nanoseconds.
// Immutable; any thread. About 2 ns a conversion when ticks come nearly in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/format.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

// Real time minus CLOCK_MONOTONIC_RAW, by the boot of the machine ("boot_id" of the metadata).
using ClockOffsets = std::map<std::string, int64_t, std::less<>>;

class TickClock {
 public:
  // `samples` in any order; bad ones (time goes back) are left out. `offset`: real time minus
  // monotonic time where that is known already, else it is taken from the samples.
  TickClock(std::vector<capture::ClockSampleEntry> samples, capture::ClockKind kind,
            int64_t created_realtime_ns, store::ImportIssues& issues,
            std::optional<int64_t> offset = std::nullopt);

  // The offset of the samples, none without any.
  static std::optional<int64_t> OffsetOf(const std::vector<capture::ClockSampleEntry>& samples);

  // Keeps the piece of the last conversion; one for each thread.
  class Cursor {
   public:
    explicit Cursor(const TickClock& clock) : clock_(&clock) {}
    int64_t ToNs(uint64_t ticks) {
      const Piece* piece = &clock_->pieces_[index_];
      if (ticks - piece->begin_ticks >= piece->length_ticks) [[unlikely]] {
        index_ = clock_->FindPiece(ticks);
        piece = &clock_->pieces_[index_];
      }
      return piece->ToNs(ticks);
    }

   private:
    const TickClock* clock_;
    size_t index_ = 0;
  };

  int64_t ToNs(uint64_t ticks) const { return pieces_[FindPiece(ticks)].ToNs(ticks); }

 private:
  struct Piece {
    uint64_t begin_ticks;
    uint64_t length_ticks;  // of the last piece: up to the largest number
    int64_t begin_ns;
    double ns_per_tick;
    int64_t max_ns;  // of its last tick: rounding must not go beyond the next piece
    int64_t ToNs(uint64_t ticks) const;
  };
  size_t FindPiece(uint64_t ticks) const;
  std::vector<Piece> pieces_;  // ascending, never empty; the first also serves all before it
};

}  // namespace sonde::importers::capture_import

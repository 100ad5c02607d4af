// Ticks of a capture to nanoseconds of the Unix epoch.
//
// Between two clock samples the rate is constant (piecewise linear through CLOCK_MONOTONIC_RAW),
// outside the rate of the nearest piece goes on. One offset ties the monotonic clock to real time
// for the whole capture, so steps of the wall clock do not bend durations. Monotone: a <= b gives
// ToNs(a) <= ToNs(b), so ranges that nest in ticks nest in nanoseconds.
// Immutable; any thread. About 2 ns a conversion when ticks come nearly in order.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/format.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

class TickClock {
 public:
  // `samples` in any order; bad ones (time goes back) are left out.
  TickClock(std::vector<capture::ClockSampleEntry> samples, capture::ClockKind kind,
            int64_t created_realtime_ns, store::ImportIssues& issues);

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

#include "importers/capture/tick_clock.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "importers/capture/issues.h"

namespace sonde::importers::capture_import {
namespace {

using capture::ClockKind;
using capture::ClockSampleEntry;

// Samples nearer than this are not worth a piece: their own uncertainty would show in the rate.
constexpr int64_t kMinPieceNs = 50'000'000;
// Counters run at 1 MHz to 10 GHz; a pair of samples with another rate is bad.
constexpr double kMinNsPerTick = 0.1;
constexpr double kMaxNsPerTick = 1000;
// Far beyond any real time, and differences of two such times do not overflow.
constexpr int64_t kLimitNs = 4'000'000'000'000'000'000;

// Wraps around instead of overflowing: samples may hold anything.
int64_t Difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

int64_t Clamp(int64_t ns) { return std::clamp(ns, -kLimitNs, kLimitNs); }

// Samples in order of time, thinned; first and last stay.
std::vector<ClockSampleEntry> Usable(std::vector<ClockSampleEntry> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  std::vector<ClockSampleEntry> kept;
  for (size_t i = 0; i < samples.size(); ++i) {
    const ClockSampleEntry& sample = samples[i];
    if (kept.empty()) {
      kept.push_back(sample);
      continue;
    }
    const ClockSampleEntry& before = kept.back();
    const auto ticks = static_cast<double>(sample.ticks - before.ticks);
    const auto ns =
        static_cast<double>(Difference(sample.monotonic_raw_ns, before.monotonic_raw_ns));
    if (ticks <= 0 || ns / ticks < kMinNsPerTick || ns / ticks > kMaxNsPerTick) continue;
    const bool near = ns < static_cast<double>(kMinPieceNs);
    const bool last = i + 1 == samples.size();
    if (near && !last) continue;
    if (near && kept.size() > 1) kept.pop_back();
    kept.push_back(sample);
  }
  return kept;
}

double OnlyRate(ClockKind kind) {
  if (kind == ClockKind::kMonotonicRawNs) return 1;
  return 1e9 / base::MeasureTscHz();
}

}  // namespace

// From the tightest sample.
std::optional<int64_t> TickClock::OffsetOf(const std::vector<ClockSampleEntry>& samples) {
  if (samples.empty()) return std::nullopt;
  const auto best = std::min_element(
      samples.begin(), samples.end(),
      [](const auto& a, const auto& b) { return a.uncertainty_ns < b.uncertainty_ns; });
  return Difference(best->realtime_ns, best->monotonic_raw_ns);
}

TickClock::TickClock(std::vector<ClockSampleEntry> samples, ClockKind kind,
                     int64_t created_realtime_ns, store::ImportIssues& issues,
                     std::optional<int64_t> offset) {
  samples = Usable(std::move(samples));
  if (!offset) offset = OffsetOf(samples);
  const auto at = [&](const ClockSampleEntry& sample) {
    return Clamp(Difference(sample.monotonic_raw_ns, Difference(0, *offset)));
  };
  // Half of the range, so that ticks before the piece, which wrap around, are not inside.
  constexpr uint64_t kForever = uint64_t{1} << 63U;
  if (samples.size() < 2) {
    if (samples.empty()) issues.Add(kNoClock, "");
    if (samples.size() == 1 && kind == ClockKind::kTsc) issues.Add(kGuessedClock, "");
    const uint64_t begin = samples.empty() ? 0 : samples[0].ticks;
    const int64_t begin_ns = samples.empty() ? Clamp(created_realtime_ns) : at(samples[0]);
    pieces_.push_back({begin, kForever, begin_ns, OnlyRate(kind), kLimitNs});
    return;
  }
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const ClockSampleEntry& a = samples[i];
    const ClockSampleEntry& b = samples[i + 1];
    const bool last = i + 2 == samples.size();
    const double rate = static_cast<double>(Difference(b.monotonic_raw_ns, a.monotonic_raw_ns)) /
                        static_cast<double>(b.ticks - a.ticks);
    pieces_.push_back(
        {a.ticks, last ? kForever : b.ticks - a.ticks, at(a), rate, last ? kLimitNs : at(b)});
  }
}

int64_t TickClock::Piece::ToNs(uint64_t ticks) const {
  // Before the first piece the difference is negative; the two's complement wraps back.
  const double ns = static_cast<double>(static_cast<int64_t>(ticks - begin_ticks)) * ns_per_tick;
  if (!(std::fabs(ns) < static_cast<double>(kLimitNs))) [[unlikely]] {
    return ns < 0 ? -kLimitNs : max_ns;
  }
  return std::clamp(begin_ns + static_cast<int64_t>(std::floor(ns)), -kLimitNs, max_ns);
}

size_t TickClock::FindPiece(uint64_t ticks) const {
  const auto after = std::upper_bound(
      pieces_.begin(), pieces_.end(), ticks,
      [](uint64_t value, const Piece& piece) { return value < piece.begin_ticks; });
  return after == pieces_.begin() ? 0 : static_cast<size_t>(after - pieces_.begin()) - 1;
}

}  // namespace sonde::importers::capture_import

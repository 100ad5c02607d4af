// Tracks of a trace that were read, kept in memory up to a bound for all of them together.
//
// Beyond the bound all is forgotten: what is in view is read again, which is rarer than to keep a
// list of who was used when. A track that is too long to be kept may be remembered as such.
// Threads: any. Ownership: shared; tracks in use outlive their place here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace sonde::serve {

template <class Rows>
class TrackCache {
 public:
  explicit TrackCache(size_t most_rows) : most_rows_(most_rows) {}

  // Null inside: known to be too long. Nothing: not known.
  std::optional<std::shared_ptr<const Rows>> Find(int32_t track) const {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(track);
    if (found == known_.end()) return std::nullopt;
    return found->second;
  }

  // Null is for a track that is too long. Gives what another thread kept meanwhile, if one did.
  std::shared_ptr<const Rows> Keep(int32_t track, const std::shared_ptr<const Rows>& rows,
                                   size_t count) {
    const std::scoped_lock lock(mutex_);
    if (kept_ + count > most_rows_) {
      std::erase_if(known_, [](const auto& entry) { return entry.second != nullptr; });
      kept_ = 0;
    }
    const auto [place, is_new] = known_.try_emplace(track, rows);
    if (is_new) kept_ += count;
    return place->second;
  }

  // Rows that are in memory now.
  size_t kept() const {
    const std::scoped_lock lock(mutex_);
    return kept_;
  }

 private:
  const size_t most_rows_;
  mutable std::mutex mutex_;
  std::map<int32_t, std::shared_ptr<const Rows>> known_;
  size_t kept_ = 0;
};

}  // namespace sonde::serve

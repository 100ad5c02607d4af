// One pool of texts for several threads: each looks into a table of its own first.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "store/name_pool.h"

namespace sonde::importers::trace_events {

class SharedNames {
 public:
  explicit SharedNames(base::SpillPool* spill) : pool_(spill) {}
  struct Entry {
    std::string_view text;  // the pool's copy
    int32_t id;
  };
  Entry Intern(std::string_view text, uint64_t hash) {
    const std::lock_guard lock(mutex_);
    const int32_t id = pool_.Intern(text, hash);
    return {pool_.Text(id), id};
  }
  // For the time when only one thread is at work.
  store::NamePool& pool() { return pool_; }
  const store::NamePool& pool() const { return pool_; }

 private:
  std::mutex mutex_;
  store::NamePool pool_;
};

// One thread's view of the pool: the texts that were used last, each in the only place that its
// hash allows. It stays in the processor's cache; a text that is used once costs no more than its
// place.
class NameCache {
 public:
  explicit NameCache(SharedNames& shared) : shared_(shared), table_(kEntries) {}

  int32_t Intern(std::string_view text) {
    const uint64_t hash = base::HashString(text);
    Entry& entry = table_[hash & (kEntries - 1)];
    const auto tag = static_cast<uint32_t>(hash >> 32U);
    if (entry.id >= 0 && entry.tag == tag && entry.text == text) return entry.id;
    const SharedNames::Entry found = shared_.Intern(text, hash);
    // A text that is not valid UTF-8 is stored in another form: it is looked up in the pool each
    // time.
    if (found.text == text) entry = {found.text, tag, found.id};
    return found.id;
  }

 private:
  struct Entry {
    std::string_view text;
    uint32_t tag = 0;
    int32_t id = -1;
  };
  static constexpr size_t kEntries = 4096;

  SharedNames& shared_;
  std::vector<Entry> table_;
};

}  // namespace sonde::importers::trace_events

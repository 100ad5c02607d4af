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
  struct Entry {
    std::string_view text;  // the pool's copy
    int32_t id;
  };
  Entry Intern(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const int32_t id = pool_.Intern(text);
    return {pool_.Text(id), id};
  }
  // For the time when only one thread is at work.
  store::NamePool& pool() { return pool_; }
  const store::NamePool& pool() const { return pool_; }

 private:
  std::mutex mutex_;
  store::NamePool pool_;
};

// One thread's view of the pool. It forgets all when it is full: what is asked for often comes
// back.
class NameCache {
 public:
  explicit NameCache(SharedNames& shared) : shared_(shared), table_(1024) {}

  int32_t Intern(std::string_view text) {
    const uint64_t hash = base::HashString(text);
    const auto tag = static_cast<uint32_t>(hash >> 32U);
    size_t slot = hash & (table_.size() - 1);
    while (table_[slot].id >= 0) {
      if (table_[slot].tag == tag && table_[slot].text == text) return table_[slot].id;
      slot = (slot + 1) & (table_.size() - 1);
    }
    return Insert(text, hash);
  }

 private:
  struct Entry {
    std::string_view text;
    uint32_t tag = 0;
    int32_t id = -1;
  };

  int32_t Insert(std::string_view text, uint64_t hash) {
    const SharedNames::Entry entry = shared_.Intern(text);
    // A text that is not valid UTF-8 is kept as another: it is asked for each time.
    if (entry.text != text) return entry.id;
    if ((count_ + 1) * 2 > table_.size()) GrowOrForget();
    Place({entry.text, static_cast<uint32_t>(hash >> 32U), entry.id}, hash);
    ++count_;
    return entry.id;
  }

  void Place(const Entry& entry, uint64_t hash) {
    size_t slot = hash & (table_.size() - 1);
    while (table_[slot].id >= 0) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = entry;
  }

  void GrowOrForget() {
    if (table_.size() == kMaxEntries) {
      table_.assign(kMaxEntries, Entry());
      count_ = 0;
      return;
    }
    std::vector<Entry> old(table_.size() * 2);
    old.swap(table_);
    for (const Entry& entry : old) {
      if (entry.id >= 0) Place(entry, base::HashString(entry.text));
    }
  }

  static constexpr size_t kMaxEntries = size_t{64} << 10U;  // 1.5 MB

  SharedNames& shared_;
  std::vector<Entry> table_;  // open addressing; size a power of two
  size_t count_ = 0;
};

}  // namespace sonde::importers::trace_events

// Texts by number: every distinct text once, numbered in the order of first use.
//
// Invalid UTF-8 is replaced by U+FFFD at its first use, since the database takes only valid text;
// two texts that become equal share a number. Cost: one hash and one comparison for a known text.
// One thread at a time; each thread of a parallel import fills a pool of its own, MergeInto joins
// them. Memory: the texts, and about 40 bytes each; with a spill pool it may leave memory, except
// the tables of the first six million, which are accessed at random.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/host/spill.h"
#include "store/store.h"

namespace sonde::store {

class NamePool {
 public:
  // Large tables are in `spill`, which must outlive the pool; null: in plain memory.
  explicit NamePool(base::SpillPool* spill = nullptr);
  NamePool(const NamePool&) = delete;
  NamePool& operator=(const NamePool&) = delete;
  NamePool(NamePool&&) = default;
  NamePool& operator=(NamePool&&) = default;

  int32_t Intern(std::string_view text) { return Intern(text, base::HashString(text)); }
  // For callers that have the hash (base::HashString) already.
  int32_t Intern(std::string_view text, uint64_t hash);
  // -1 where the text is not in the pool.
  int32_t Find(std::string_view text) const;
  // Valid for the life of the pool.
  std::string_view Text(int32_t id) const { return texts_[static_cast<size_t>(id)]; }
  size_t size() const { return texts_.size(); }
  // Calls with a text that was not valid UTF-8, and was kept as ToValidUtf8 gives it.
  int64_t garbled() const { return garbled_; }

  // Ids of this pool's texts in `target`.
  std::vector<int32_t> MergeInto(NamePool& target) const;
  // Fills the table of texts; once a store.
  Status Write(Transaction& transaction) const;

 private:
  // Part of a text's hash; it gives the place in the table too, so that growing looks at no text.
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32U); }
  struct Entry {
    uint32_t tag = 0;
    int32_t id = -1;
  };
  // Open addressing; the number of entries is a power of two.
  struct Table {
    base::SpillVector<Entry> entries;
    size_t used = 0;
  };
  // Each grows by itself: the old and the new copy of one of them are small.
  static constexpr size_t kTables = 16;

  int32_t Insert(std::string_view text, uint32_t tag);
  static size_t TableOf(uint32_t tag) { return tag / (uint32_t{1} << 28U); }
  const Entry& Find(std::string_view text, uint32_t tag) const;
  static void Add(Table& table, const Entry& entry);
  void Grow(Table& table);
  std::string_view Keep(std::string_view text);

  std::array<Table, kTables> tables_;
  base::SpillVector<std::string_view> texts_;
  std::vector<base::SpillVector<char>> blocks_;
  int64_t garbled_ = 0;
  size_t block_left_ = 0;
  char* block_next_ = nullptr;
};

// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string ToValidUtf8(std::string_view text);
bool IsValidUtf8(std::string_view text);

}  // namespace sonde::store

// Set of byte strings that gives each a number from 1 in order of arrival, for the life of the
// process. Finding a known string takes no lock; adding one is serialised by the caller's mutex.
//
// The table is open addressing over atomic pointers. Growing publishes a larger table and keeps the
// old one, because a reader may still be in it (at most as much memory again). Entries never move.
#ifndef SONDE_RECORD_INTERN_TABLE_H_
#define SONDE_RECORD_INTERN_TABLE_H_

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sonde::record {

class InternTable {
 public:
  InternTable();
  InternTable(const InternTable&) = delete;
  InternTable& operator=(const InternTable&) = delete;

  // 0: not known. Any thread, no lock.
  uint32_t Find(std::string_view bytes) const;

  // Adds `bytes`, which Find does not know. The caller holds the mutex of the table. Where there is
  // no memory for a larger table the old one gets fuller; 0 where it is full.
  uint32_t Add(std::string_view bytes);
  // A number that no string will have, 0 where there is no memory. The caller holds the mutex.
  uint32_t AddEmpty();
  uint32_t next_id() const { return static_cast<uint32_t>(entries_.size()) + 1; }

  // Entries in order of their numbers (index + 1), without data where there is no string. The
  // caller holds the mutex of the table.
  const std::vector<std::string_view>& entries() const { return entries_; }

 private:
  struct Entry {
    uint64_t hash;
    uint32_t id;
    uint32_t length;
    char bytes[1];  // length bytes follow
  };
  struct Table {
    uint64_t mask;
    std::atomic<const Entry*>* slots;
    const Table* outgrown;  // the smaller one before, where a reader may still be
  };
  static Table* NewTable(uint64_t capacity, const Table* outgrown);  // null: no memory
  static void Insert(Table* table, const Entry* entry);
  char* Allocate(size_t size);
  bool HasRoom();

  std::atomic<Table*> table_;
  std::vector<std::string_view> entries_;
  size_t strings_ = 0;     // of entries_: those that are in the table
  char* arena_ = nullptr;  // memory is never given back: ids stay valid until the process ends
  size_t arena_left_ = 0;
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_INTERN_TABLE_H_

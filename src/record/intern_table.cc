#include "record/intern_table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/hash.h"

namespace sonde::record {
namespace {

constexpr size_t kArenaBlock = 64 * 1024;

}  // namespace

InternTable::InternTable() : table_(NewTable(1024, nullptr)) {}

InternTable::Table* InternTable::NewTable(uint64_t capacity, const Table* outgrown) {
  auto* slots = new (std::nothrow) std::atomic<const Entry*>[capacity]();
  return slots == nullptr ? nullptr : new Table{capacity - 1, slots, outgrown};
}

uint32_t InternTable::Find(std::string_view bytes) const {
  const uint64_t hash = base::HashString(bytes);
  const Table* table = table_.load(std::memory_order_acquire);
  for (uint64_t i = hash & table->mask;; i = (i + 1) & table->mask) {
    const Entry* entry = table->slots[i].load(std::memory_order_acquire);
    if (entry == nullptr) return 0;
    if (entry->hash == hash && entry->length == bytes.size() &&
        std::memcmp(entry->bytes, bytes.data(), bytes.size()) == 0) {
      return entry->id;
    }
  }
}

// The list is the largest single allocation: it grows only where the memory is available.
bool InternTable::HasRoom() {
  if (entries_.size() < entries_.capacity()) return true;
  const size_t next = std::max<size_t>(entries_.capacity() * 2, 64);
  void* probe = ::operator new(next * sizeof(std::string_view), std::nothrow);
  if (probe == nullptr) return false;
  ::operator delete(probe);
  entries_.reserve(next);
  return true;
}

uint32_t InternTable::AddEmpty() {
  if (!HasRoom()) return 0;
  entries_.emplace_back();
  return static_cast<uint32_t>(entries_.size());
}

uint32_t InternTable::Add(std::string_view bytes) {
  const Table* present = table_.load(std::memory_order_relaxed);
  // A search must find an empty place.
  if (strings_ + 1 >= present->mask || !HasRoom()) return 0;
  void* memory = Allocate(sizeof(Entry) + bytes.size());
  auto* entry = new (memory) Entry;
  entry->hash = base::HashString(bytes);
  entry->id = static_cast<uint32_t>(entries_.size()) + 1;
  entry->length = static_cast<uint32_t>(bytes.size());
  if (!bytes.empty()) std::memcpy(entry->bytes, bytes.data(), bytes.size());
  entries_.emplace_back(entry->bytes, entry->length);
  ++strings_;

  Table* table = table_.load(std::memory_order_relaxed);
  Table* larger = strings_ * 2 > table->mask ? NewTable((table->mask + 1) * 4, table) : nullptr;
  if (larger != nullptr) {
    for (uint64_t i = 0; i <= table->mask; ++i) {
      const Entry* known = table->slots[i].load(std::memory_order_relaxed);
      if (known != nullptr) Insert(larger, known);
    }
    Insert(larger, entry);
    table_.store(larger, std::memory_order_release);
  } else {
    Insert(table, entry);
  }
  return entry->id;
}

void InternTable::Insert(Table* table, const Entry* entry) {
  uint64_t i = entry->hash & table->mask;
  while (table->slots[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & table->mask;
  table->slots[i].store(entry, std::memory_order_release);
}

char* InternTable::Allocate(size_t size) {
  size = (size + alignof(Entry) - 1) / alignof(Entry) * alignof(Entry);
  if (size > kArenaBlock / 4) return static_cast<char*>(::operator new(size));
  if (size > arena_left_) {
    arena_ = static_cast<char*>(::operator new(kArenaBlock));
    arena_left_ = kArenaBlock;
  }
  char* result = arena_;
  arena_ += size;
  arena_left_ -= size;
  return result;
}

}  // namespace sonde::record

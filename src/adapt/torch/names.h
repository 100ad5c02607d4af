// Names of operators and ranges to dictionary ids, per thread, without allocation once seen.
//
// An operator's name belongs to its schema: the cache is keyed by the schema's address. A schema
// may be freed (custom operators can be unloaded) and another one appear at its address, so the key
// also holds the address, length and last characters of the name. Names of ranges live only as long
// as the range: they are keyed by a hash of the text. The 64 bits of a key decide (as inputs.h).
// A name decides the record kind of a range (an optimizer step, a data loader, a collective ...).
// Threads: one cache per thread. Cost of a hit: 2 ns for operators, about 8 ns for ranges.
#ifndef SONDE_ADAPT_TORCH_NAMES_H_
#define SONDE_ADAPT_TORCH_NAMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "adapt/torch/layout.h"
#include "base/hash.h"
#include "capture/format.h"

namespace sonde::adapt {

inline constexpr uint8_t kCompiledGraph = 1;

struct NameInfo {
  uint32_t id;
  capture::RecordKind kind;  // of a record with this name in its scope
  // kCollective: row of CollectiveOperator(); kCollectiveWork: a Collective; kUserScope:
  // kCompiledGraph around the kernels of one
  uint8_t detail;
};

// Classification by text alone; `schema`: the name of an operator.
NameInfo ClassifyName(const char* text, size_t length, bool schema, uint8_t scope);

class NameCache {
 public:
  // `schema`: address of a FunctionSchema that begins with its name.
  NameInfo Schema(const void* schema, bool old_strings) {
    const char* text = ReadAt<const char*>(schema, 0);
    const size_t length =
        old_strings ? ReadAt<size_t>(text - kOldStringLength, 0) : ReadAt<size_t>(schema, 8);
    const auto address = reinterpret_cast<uintptr_t>(schema);
    const uint64_t identity = base::HashCombine(
        base::HashCombine(address, reinterpret_cast<uintptr_t>(text) + length), Tail(text, length));
    Line& line = schemas_[(address >> 6) % kSchemaLines];
    for (const Slot& slot : line.slots) {
      if (slot.identity == identity) [[likely]] {
        return slot.info;
      }
    }
    return Add(&line, identity, ClassifyName(text, length, true, kScopeFunction));
  }
  NameInfo Text(const char* text, size_t length, bool schema, uint8_t scope);
  // The texts of user scopes have numbers of one session (sonde_name_once).
  void BeginSession() { std::fill(std::begin(texts_), std::end(texts_), Line()); }

 private:
  static constexpr size_t kSchemaLines = 256;
  static constexpr size_t kTextLines = 128;
  static constexpr size_t kWays = 4;

  // identity 0: free. One line of the processor's cache holds all places that a name may have:
  // between two operators the program's own work empties the near caches.
  struct Slot {
    uint64_t identity;
    NameInfo info;
  };
  struct alignas(64) Line {
    Slot slots[kWays];
  };

  static uint64_t Tail(const char* text, size_t length) {
    uint64_t tail = 0;
    if (length >= sizeof(tail)) [[likely]] {
      std::memcpy(&tail, text + length - sizeof(tail), sizeof(tail));
    } else {
      std::memcpy(&tail, text, length);
    }
    return tail;
  }
  static NameInfo Add(Line* line, uint64_t identity, NameInfo info);

  Line schemas_[kSchemaLines] = {};
  Line texts_[kTextLines] = {};
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_NAMES_H_

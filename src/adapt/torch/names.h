// Names of operators and ranges to dictionary ids, per thread, without allocation once seen.
//
// An operator's name belongs to its schema: the cache is keyed by the schema's address. A schema
// may be freed (custom operators can be unloaded) and another one appear at its address, so a hit
// also compares the address, length and last characters of the name. Names of ranges live only
// as long as the range: they are keyed by a hash of the text, and compared with a copy.
// A name decides the record kind of a range (an optimizer step, a data loader, a collective ...).
// Threads: one cache per thread. Cost of a hit: 2 ns for operators, about 8 ns for ranges.
#ifndef SONDE_ADAPT_TORCH_NAMES_H_
#define SONDE_ADAPT_TORCH_NAMES_H_

#include <cstddef>
#include <cstdint>

#include "adapt/torch/layout.h"
#include "capture/format.h"

namespace sonde::adapt {

struct NameInfo {
  uint32_t id;
  capture::RecordKind kind;  // of a record with this name in its scope
  uint8_t detail;  // kCollective: row of CollectiveOperator(); kCollectiveWork: a Collective
};

// Classification by text alone; `schema`: the name of an operator.
NameInfo ClassifyName(const char* text, size_t length, bool schema, uint8_t scope);

class NameCache {
 public:
  // `schema`: address of a FunctionSchema that begins with its name.
  NameInfo Schema(const void* schema, bool old_strings) {
    SchemaSlot& slot = schemas_[(reinterpret_cast<uintptr_t>(schema) >> 6) % kSchemaSlots];
    const char* text = ReadAt<const char*>(schema, 0);
    const size_t length =
        old_strings ? ReadAt<size_t>(text - kOldStringLength, 0) : ReadAt<size_t>(schema, 8);
    if (slot.schema == schema && slot.text == text && slot.length == length &&
        slot.tail == Tail(text, length)) [[likely]] {
      return slot.info;
    }
    return AddSchema(&slot, schema, text, length);
  }
  NameInfo Text(const char* text, size_t length, bool schema, uint8_t scope);

 private:
  static constexpr size_t kSchemaSlots = 1024;
  static constexpr size_t kTextSlots = 512;
  static constexpr size_t kTextCopy = 88;

  struct SchemaSlot {
    const void* schema;
    const char* text;
    size_t length;
    uint64_t tail;
    NameInfo info;
  };
  struct TextSlot {
    uint64_t hash;
    uint32_t length;
    uint8_t scope;
    uint8_t schema;
    NameInfo info;
    char text[kTextCopy];  // longer names: the hash decides about the rest
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
  NameInfo AddSchema(SchemaSlot* slot, const void* schema, const char* text, size_t length);

  SchemaSlot schemas_[kSchemaSlots] = {};
  TextSlot texts_[kTextSlots] = {};
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_NAMES_H_

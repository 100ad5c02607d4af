// Offsets of the fields that the adapter reads in torch's objects, with the versions that differ.
//
// A row of kRangeLayouts is chosen by the self-test, never by a version number; all other offsets
// are found by the self-test (self_test.h) on objects whose content it knows. An offset of 0 means
// "not found": data that needs it is then not recorded. Reading is plain loads from memory that the
// caller of the callback keeps alive.
#ifndef SONDE_ADAPT_TORCH_LAYOUT_H_
#define SONDE_ADAPT_TORCH_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "adapt/python/read_at.h"
#include "adapt/torch/torch_symbols.h"

namespace sonde::adapt {

// at::RecordFunction. Common to all rows: thread number at 88, scope byte at 96, descriptor at
// 160 (text: pointer to the characters; operator: pointer to the schema).
struct RangeLayout {
  const char* label;
  bool old_strings;  // std::string of the pre-C++11 ABI: one pointer, length 24 bytes before it
  uint16_t kind;     // byte: 0 text, 1 schema
  uint16_t sequence;
  uint16_t inputs;  // pointer to the values, then their number
  uint16_t forward_thread;
};
inline constexpr RangeLayout kRangeLayouts[] = {
    {"torch 2.4 to 2.6", true, 168, 176, 184, 280},
    {"torch 2.7 and newer", false, 192, 200, 208, 304},
};
inline constexpr size_t kRangeThread = 88;
inline constexpr size_t kRangeScope = 96;
inline constexpr size_t kRangeDescriptor = 160;
inline constexpr size_t kOldStringLength = 24;  // before the characters of an old string

// c10::IValue: 16 bytes, the same in all versions apart from the numbers of the later tags.
struct TorchValue {
  uint64_t payload;
  uint32_t tag;
  uint32_t reserved;
};
static_assert(sizeof(TorchValue) == 16);
inline constexpr uint32_t kTagNone = 0;
inline constexpr uint32_t kTagTensor = 1;
inline constexpr uint32_t kTagDouble = 3;
inline constexpr uint32_t kTagInt = 5;

struct Layout {
  const RangeLayout* range = nullptr;
  bool schema_names = false;  // a schema begins with its name (std::string)
  bool sequence = false;      // sequence numbers agree with autograd's
  bool inputs = false;
  uint32_t tag_bool = 0;
  uint32_t tag_string = 0;
  uint32_t tag_list = 0;  // list of values; its vector begins at list_vector
  uint32_t list_vector = 0;
  uint32_t tensor_sizes = 0;  // size_t dim, then 5 sizes inline, or a pointer when dim > 5
  uint32_t tensor_dtype = 0;  // u16
  uint32_t tensor_keys = 0;   // u64 dispatch key set
  uint64_t opaque_keys = 0;   // key bits of tensors without valid sizes field
};

inline constexpr size_t kInlineSizes = 5;

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_LAYOUT_H_

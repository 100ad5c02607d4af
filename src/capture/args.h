// Encoding of an argument set (dictionary entry kArgs): the arguments of a range.
//
// A set is a sequence of fields: ArgHead, then `length` bytes padded with zeros to 4. Sets are
// deduplicated by content at the writer, so that a record carries only a 4-byte id.
#ifndef SONDE_CAPTURE_ARGS_H_
#define SONDE_CAPTURE_ARGS_H_

#include <cstdint>

namespace sonde::capture {

enum class ArgType : uint16_t {
  kInt64 = 1,       // 8 bytes
  kDouble = 2,      // 8 bytes
  kName = 3,        // u32 dictionary id of a text
  kText = 4,        // UTF-8
  kJson = 5,        // UTF-8 JSON
  kInt64Array = 6,  // 8 bytes each
  kInputs = 7,      // inputs of an operator, see below
};

struct ArgHead {
  uint32_t key;  // name id
  uint16_t type;
  uint16_t reserved;
  uint32_t length;
};
static_assert(sizeof(ArgHead) == 12);

// kInputs: u16 count, then for each input one byte InputTag and its data.
enum class InputTag : uint8_t {
  kNone = 0,
  kTensor = 1,      // u8 dtype (torch ScalarType code), u8 ndim, ndim * i64 sizes
  kTensorList = 2,  // u16 n, then n inputs (kTensor or kNone)
  kInt = 3,         // the value is not stored: a different value would be a different set
  kDouble = 4,
  kBool = 5,
  kScalarList = 6,
  kString = 7,
  kOther = 8,         // device, generator, layout, process group ...
  kOpaqueTensor = 9,  // a tensor whose sizes may not be read (subclass, nested); u8 dtype or 255
};

// Keys that the recorder's adapters use; text of the name entry.
inline constexpr char kKeyInputs[] = "inputs";
inline constexpr char kKeyModuleClass[] = "class";
inline constexpr char kKeyGroupName[] = "group_name";
inline constexpr char kKeyGroupRanks[] = "group_ranks";  // kName of a JSON list, global ranks
inline constexpr char kKeyBytes[] = "bytes";             // kInt64, payload of this rank
inline constexpr char kKeyCount[] = "count";             // kInt64, elements
inline constexpr char kKeyDtype[] = "dtype";             // kText, torch name ("float32")
inline constexpr char kKeyPeerRank[] = "peer_rank";      // kInt64, global rank (send, recv)
inline constexpr char kKeyBackend[] = "backend";         // kText, "gloo", "nccl", "hccl"
inline constexpr char kKeyFlops[] = "flops";             // kInt64

}  // namespace sonde::capture

#endif  // SONDE_CAPTURE_ARGS_H_

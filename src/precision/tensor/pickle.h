// Reads the pickle of one tensor without executing anything.
//
// Knows the opcodes of protocols 2 to 5 that describe plain data and the few functions by which
// torch rebuilds a tensor. Every other function, class or opcode is refused by name, or, with
// PickleRules::kAnyData, stands for an object of which class and attributes are known. Nothing is
// imported or called: "calling" `torch._utils._rebuild_tensor_v2` fills a TensorRecord.
// Errors: kCorruptData for broken pickles, kUnimplemented for things that are not tensors.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "precision/tensor/dtype.h"

namespace sonde::precision {

// The persistent id of a storage.
struct StorageRecord {
  std::optional<Dtype> dtype;  // none for an untyped storage: the tensor names it
  std::string key;             // name of the data entry
  int64_t element_count = 0;   // bytes where there is no dtype
  int64_t view_offset = 0;     // legacy files: first element of a view into the storage `key`
};

struct TensorRecord {
  StorageRecord storage;
  Dtype dtype = Dtype::kFloat32;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

struct PickleValue;
using PicklePtr = PickleValue*;

// A decoded object; only what tensor files need.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kBigInt,  // beyond 64 bits: the legacy magic number
    kFloat,
    kText,
    kTuple,
    kList,
    kDict,
    kGlobal,  // text: "module name"
    kStorage,
    kTensor,
    kObject,  // text: "module name" of its constructor; items: attributes or members by key
    kMark,
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  double real = 0;
  std::string text;
  std::vector<PicklePtr> items;  // tuple, list; dict, object: key, value, key, value
  std::vector<PicklePtr> parts;  // object: what it was made of, and members without keys
  std::unique_ptr<StorageRecord> storage;
  std::unique_ptr<TensorRecord> tensor;
};

// Owns decoded objects: they may refer to each other in circles.
class PicklePool {
 public:
  PicklePtr Make(PickleValue::Kind kind) {
    values_.emplace_back().kind = kind;
    return &values_.back();
  }
  const std::deque<PickleValue>& values() const { return values_; }
  // Members, lengths and eights of a text that are copied from one object into another: a short
  // pickle may ask for the same copy again and again.
  void CountCopies(size_t count) { copies_ += count; }
  size_t copies() const { return copies_; }

 private:
  std::deque<PickleValue> values_;
  size_t copies_ = 0;
};

enum class PickleRules : uint8_t {
  kOneTensor,  // nothing but what belongs to a tensor
  kAnyData,    // whatever a program saves: what is unknown becomes a kObject
};

// Reads one pickle from the front of `bytes`; `consumed` receives its length. The object lives in
// `pool`.
Result<PicklePtr> ReadPickle(std::string_view bytes, PicklePool* pool, size_t* consumed,
                             PickleRules rules = PickleRules::kOneTensor);

// The member or attribute `key` of a dict or object; null where there is none.
PicklePtr FindMember(PicklePtr of, std::string_view key);

}  // namespace sonde::precision

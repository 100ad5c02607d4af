#include "adapt/torch/inputs.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "capture/args.h"
#include "sonde/sonde.h"

namespace sonde::adapt {

using capture::InputTag;

namespace {

constexpr size_t kMaxBytes = SONDE_ARGS_CAPACITY - sizeof(capture::ArgHead) - 4;
constexpr size_t kMaxDims = 64;
constexpr size_t kMaxListItems = 1024;

struct DtypeRow {
  const char* name;
  uint32_t bytes;
};
// Order of torch's ScalarType.
constexpr DtypeRow kDtypes[] = {{"uint8", 1},           {"int8", 1},
                                {"int16", 2},           {"int32", 4},
                                {"int64", 8},           {"float16", 2},
                                {"float32", 4},         {"float64", 8},
                                {"complex32", 4},       {"complex64", 8},
                                {"complex128", 16},     {"bool", 1},
                                {"qint8", 1},           {"quint8", 1},
                                {"qint32", 4},          {"bfloat16", 2},
                                {"quint4x2", 1},        {"quint2x4", 1},
                                {"bits1x8", 1},         {"bits2x4", 1},
                                {"bits4x2", 1},         {"bits8", 1},
                                {"bits16", 2},          {"float8_e5m2", 1},
                                {"float8_e4m3fn", 1},   {"float8_e5m2fnuz", 1},
                                {"float8_e4m3fnuz", 1}, {"uint16", 2},
                                {"uint32", 4},          {"uint64", 8}};
constexpr int kDtypeCount = static_cast<int>(std::size(kDtypes));

// Writes the encoding; `failed` when it does not fit. Bounds are checked once per item.
class Encoder {
 public:
  Encoder(const InputsConfig& config, unsigned char* out, bool with_lists)
      : config_(config), begin_(out), out_(out), with_lists_(with_lists) {}

  void Values(const TorchValue* values, size_t count) {
    if (count > UINT16_MAX) {
      failed_ = true;
      return;
    }
    U16(static_cast<uint16_t>(count));
    for (size_t i = 0; i < count && !failed_; i++) Value(values[i]);
  }
  bool failed() const { return failed_; }
  size_t size() const { return static_cast<size_t>(out_ - begin_); }

 private:
  void Value(const TorchValue& value) {
    if (!Room(3)) return;
    const Layout& layout = config_.layout;
    if (value.tag == kTagTensor) {
      Tensor(reinterpret_cast<const char*>(value.payload));
    } else if (value.tag == kTagNone) {
      Tag(InputTag::kNone);
    } else if (value.tag == kTagInt) {
      Tag(InputTag::kInt);
    } else if (value.tag == kTagDouble) {
      Tag(InputTag::kDouble);
    } else if (value.tag == layout.tag_bool) {
      Tag(InputTag::kBool);
    } else if (value.tag == layout.tag_string) {
      Tag(InputTag::kString);
    } else if (value.tag == layout.tag_list && layout.list_vector != 0) {
      List(reinterpret_cast<const char*>(value.payload));
    } else {
      Tag(InputTag::kOther);
    }
  }

  void Tensor(const char* tensor) {
    if (tensor == config_.undefined_tensor || tensor == nullptr) {
      Tag(InputTag::kNone);
      return;
    }
    const Layout& layout = config_.layout;
    const auto dtype = static_cast<uint8_t>(ReadAt<uint16_t>(tensor, layout.tensor_dtype));
    const uint64_t dim = ReadAt<uint64_t>(tensor, layout.tensor_sizes);
    if ((ReadAt<uint64_t>(tensor, layout.tensor_keys) & layout.opaque_keys) != 0 || dim > kMaxDims)
        [[unlikely]] {
      Tag(InputTag::kOpaqueTensor);
      *out_++ = dtype;
      return;
    }
    if (!Room(3 + dim * 8)) return;
    Tag(InputTag::kTensor);
    *out_++ = dtype;
    *out_++ = static_cast<unsigned char>(dim);
    const char* sizes = tensor + layout.tensor_sizes + 8;
    if (dim > kInlineSizes) sizes = ReadAt<const char*>(sizes, 0);
    for (uint64_t d = 0; d < dim; d++) std::memcpy(out_ + d * 8, sizes + d * 8, 8);
    out_ += dim * 8;
  }

  // A list of tensors with its tensors (None among them allowed), any other as its presence.
  void List(const char* list) {
    const auto* begin = ReadAt<const TorchValue*>(list, config_.layout.list_vector);
    const auto* end = ReadAt<const TorchValue*>(list, config_.layout.list_vector + 8);
    const auto count = static_cast<size_t>(end - begin);
    bool tensors = false;
    for (size_t i = 0; i < std::min(count, kMaxListItems); i++) {
      if (begin[i].tag != kTagTensor && begin[i].tag != kTagNone) {
        Tag(InputTag::kScalarList);
        return;
      }
      tensors = tensors || begin[i].tag == kTagTensor;
    }
    if (!tensors || count > kMaxListItems || !with_lists_) {
      Tag(tensors ? InputTag::kOther : InputTag::kScalarList);
      return;
    }
    Tag(InputTag::kTensorList);
    U16(static_cast<uint16_t>(count));
    for (size_t i = 0; i < count && !failed_; i++) {
      if (!Room(3)) return;
      if (begin[i].tag == kTagTensor) {
        Tensor(reinterpret_cast<const char*>(begin[i].payload));
      } else {
        Tag(InputTag::kNone);
      }
    }
  }

  bool Room(size_t bytes) {
    if (size() + bytes > kMaxBytes) failed_ = true;
    return !failed_;
  }
  void Tag(InputTag tag) { *out_++ = static_cast<unsigned char>(tag); }
  void U16(uint16_t value) {
    std::memcpy(out_, &value, sizeof(value));
    out_ += sizeof(value);
  }

  const InputsConfig& config_;
  unsigned char* begin_;
  unsigned char* out_;
  bool with_lists_;
  bool failed_ = false;
};

// Length of the encoding in `bytes` (SONDE_ARGS_CAPACITY); 0: does not fit even without lists.
size_t Encode(const InputsConfig& config, const TorchValue* values, size_t count,
              unsigned char* bytes, uint64_t* oversized) {
  for (const bool with_lists : {true, false}) {
    Encoder encoder(config, bytes, with_lists);
    encoder.Values(values, count);
    if (!encoder.failed()) [[likely]] {
      return encoder.size();
    }
    ++*oversized;
  }
  return 0;
}

uint32_t InternBytes(uint32_t key, const unsigned char* bytes, size_t length) {
  sonde_args_builder builder;
  sonde_args_init(&builder);
  sonde_args_field(&builder, key, static_cast<uint16_t>(capture::ArgType::kInputs), bytes, length);
  return sonde_args_intern(&builder);
}

}  // namespace

TensorFacts ReadTensor(const InputsConfig& config, const void* tensor) {
  TensorFacts facts;
  const Layout& layout = config.layout;
  if (tensor == config.undefined_tensor || tensor == nullptr || layout.tensor_sizes == 0) {
    return facts;
  }
  facts.dtype = ReadAt<uint16_t>(tensor, layout.tensor_dtype);
  if ((ReadAt<uint64_t>(tensor, layout.tensor_keys) & layout.opaque_keys) != 0) return facts;
  const uint64_t dim = ReadAt<uint64_t>(tensor, layout.tensor_sizes);
  if (dim > kMaxDims) return facts;
  const char* sizes = static_cast<const char*>(tensor) + layout.tensor_sizes + 8;
  if (dim > kInlineSizes) sizes = ReadAt<const char*>(sizes, 0);
  facts.elements = 1;
  for (uint64_t d = 0; d < dim; d++) facts.elements *= ReadAt<int64_t>(sizes, d * 8);
  return facts;
}

uint32_t DtypeBytes(int dtype) {
  return dtype >= 0 && dtype < kDtypeCount ? kDtypes[dtype].bytes : 0;
}

const char* DtypeName(int dtype) {
  return dtype >= 0 && dtype < kDtypeCount ? kDtypes[dtype].name : "unknown";
}

void AddInputs(const InputsConfig& config, const TorchValue* values, size_t count, uint32_t key,
               sonde_args_builder* builder) {
  unsigned char bytes[SONDE_ARGS_CAPACITY];
  uint64_t oversized = 0;
  const size_t length = count > 0 ? Encode(config, values, count, bytes, &oversized) : 0;
  if (length == 0) return;
  sonde_args_field(builder, key, static_cast<uint16_t>(capture::ArgType::kInputs), bytes, length);
}

uint32_t InputsCache::Intern(const InputsConfig& config, const TorchValue* values, size_t count) {
  if (count == 0) return 0;
  unsigned char bytes[SONDE_ARGS_CAPACITY];
  const size_t length = Encode(config, values, count, bytes, &oversized_);
  if (length == 0) [[unlikely]] {
    return 0;
  }
  const uint64_t hash = base::HashBytes(bytes, length) | 1;
  uint32_t id = 0;
  if (ids_.Find(hash, &id)) [[likely]] {
    return id;
  }
  return Add(hash, bytes, length);
}

uint32_t InputsCache::Add(uint64_t hash, const unsigned char* bytes, size_t length) {
  if (key_ == 0) key_ = sonde_intern(capture::kKeyInputs, sizeof(capture::kKeyInputs) - 1);
  const uint32_t id = InternBytes(key_, bytes, length);
  ids_.Add(hash, id);
  return id;
}

}  // namespace sonde::adapt

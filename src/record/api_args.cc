// Argument sets of the C interface: encoding as in capture/args.h, deduplicated by the dictionary.
#include <algorithm>
#include <cstring>

#include "capture/args.h"
#include "record/recorder.h"
#include "sonde/sonde.h"

namespace {

using sonde::capture::ArgHead;
using sonde::capture::ArgType;

void AddField(sonde_args_builder* builder, sonde_name key, ArgType type, const void* bytes,
              size_t length) {
  const size_t padded = (length + 3) / 4 * 4;
  if (length > SONDE_ARGS_CAPACITY ||
      builder->size + sizeof(ArgHead) + padded > SONDE_ARGS_CAPACITY) {
    ++builder->overflowed;
    return;
  }
  const ArgHead head{key, static_cast<uint16_t>(type), 0, static_cast<uint32_t>(length)};
  unsigned char* out = builder->bytes + builder->size;
  std::memcpy(out, &head, sizeof(head));
  if (length != 0) std::memcpy(out + sizeof(head), bytes, length);
  std::memset(out + sizeof(head) + length, 0, padded - length);
  builder->size += static_cast<uint32_t>(sizeof(head) + padded);
}

}  // namespace

extern "C" {

void sonde_args_init(sonde_args_builder* builder) {
  builder->size = 0;
  builder->overflowed = 0;
}

void sonde_args_int(sonde_args_builder* builder, sonde_name key, int64_t value) {
  AddField(builder, key, ArgType::kInt64, &value, sizeof(value));
}

void sonde_args_double(sonde_args_builder* builder, sonde_name key, double value) {
  AddField(builder, key, ArgType::kDouble, &value, sizeof(value));
}

void sonde_args_text(sonde_args_builder* builder, sonde_name key, const char* text, size_t length) {
  AddField(builder, key, ArgType::kText, text, length);
}

void sonde_args_ints(sonde_args_builder* builder, sonde_name key, const int64_t* values,
                     size_t count) {
  AddField(builder, key, ArgType::kInt64Array, values, count * sizeof(*values));
}

void sonde_args_field(sonde_args_builder* builder, sonde_name key, uint16_t type, const void* bytes,
                      size_t length) {
  AddField(builder, key, static_cast<ArgType>(type), bytes, length);
}

sonde_args sonde_args_intern(const sonde_args_builder* builder) {
  sonde::record::Dictionary& dictionary = sonde::record::Recorder::Get().dictionary();
  if (builder->overflowed != 0) dictionary.CountLostArguments(builder->overflowed);
  return dictionary.Args({reinterpret_cast<const char*>(builder->bytes), builder->size});
}

sonde_args sonde_args_once(const sonde_args_builder* builder) {
  sonde::record::Recorder::Get().OpenPendingChild();
  sonde::record::Dictionary& dictionary = sonde::record::Recorder::Get().dictionary();
  if (builder->overflowed != 0) dictionary.CountLostArguments(builder->overflowed);
  return dictionary.ArgsOnce({reinterpret_cast<const char*>(builder->bytes), builder->size});
}

}  // extern "C"

#include "precision/sqlite/record.h"

#include <array>

namespace sonde::precision::sqlite {
namespace {

void AppendBigEnd(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = bytes; i-- > 0;) out->push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
}

// Integers of a record take one of these sizes; their type number is the place here plus one.
constexpr std::array<size_t, 6> kIntBytes = {1, 2, 3, 4, 6, 8};

}  // namespace

void AppendVarint(uint64_t value, std::string* out) {
  if (value < 0x80) {
    out->push_back(static_cast<char>(value));
    return;
  }
  const size_t bytes = VarintBytes(value);
  // Nine bytes hold eight bits in the last, seven in the others.
  const bool full = bytes == 9;
  for (size_t i = bytes; i-- > 0;) {
    const size_t shift = full ? (i == 0 ? 0 : 8 + 7 * (i - 1)) : 7 * i;
    const uint64_t bits = value >> shift;
    const bool last = i == 0;
    const uint64_t byte = last ? (full ? bits & 0xFFU : bits & 0x7FU) : (bits & 0x7FU) | 0x80U;
    out->push_back(static_cast<char>(byte));
  }
}

void Record::Int(int64_t value) {
  if (value == 0 || value == 1) {
    types_.push_back(static_cast<char>(8 + value));
    return;
  }
  for (size_t i = 0; i < kIntBytes.size(); ++i) {
    const size_t bits = kIntBytes[i] * 8;
    const int64_t limit = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
    if (value <= limit && value >= -limit - 1) {
      types_.push_back(static_cast<char>(i + 1));
      AppendBigEnd(static_cast<uint64_t>(value), kIntBytes[i], &body_);
      return;
    }
  }
}

void Record::Real(double value) {
  types_.push_back('\7');
  AppendBigEnd(std::bit_cast<uint64_t>(value), 8, &body_);
}

}  // namespace sonde::precision::sqlite

// Unaligned little-endian loads and stores, and a bounded reader over bytes.
//
// All our files are little-endian; so are the machines we build for, hence plain copies.
// Threads: free functions are pure; a ByteReader belongs to one thread.
// Errors: ByteReader never reads past its end. A read that does not fit returns zero or an empty
// view and makes the reader fail for good, so a record can be decoded whole and checked once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace sonde::base {

static_assert(std::endian::native == std::endian::little,
              "file layouts are written by plain copies of little-endian values");

template <class T>
T LoadLe(const void* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void StoreLe(void* to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof(T));
}

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteReader {
 public:
  // The bytes must outlive the reader and the views it returns.
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  explicit ByteReader(std::string_view text) : bytes_(AsBytes(text)) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  template <class T>
  T Read() {
    if (!Take(sizeof(T))) return T{};
    return LoadLe<T>(bytes_.data() + position_ - sizeof(T));
  }

  std::span<const std::byte> ReadBytes(size_t size) {
    if (!Take(size)) return {};
    return bytes_.subspan(position_ - size, size);
  }

  std::string_view ReadText(size_t size) { return AsText(ReadBytes(size)); }

  // LEB128, at most ten bytes; a longer one, or one beyond 64 bits, fails.
  uint64_t ReadVarint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Read<uint8_t>();
      if (!ok_) return 0;
      const uint64_t bits = byte & 0x7fU;
      if (shift == 63 && bits > 1) break;
      value |= bits << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    ok_ = false;
    return 0;
  }

  void Skip(size_t size) { Take(size); }

 private:
  bool Take(size_t size) {
    if (!ok_ || size > remaining()) {
      ok_ = false;
      return false;
    }
    position_ += size;
    return true;
  }

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace sonde::base

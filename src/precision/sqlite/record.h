// One row of a table, or one entry of an index, in SQLite's record format.
//
// Values are added in column order; a long text may be built in place. Reusable: Clear() keeps the
// memory. Threads: one.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::precision::sqlite {

// SQLite's variable-length number: 1 to 9 bytes, big end first.
void AppendVarint(uint64_t value, std::string* out);
inline size_t VarintBytes(uint64_t value) {
  const auto bits = static_cast<size_t>(std::bit_width(value | 1U));
  return bits > 56 ? 9 : (bits + 6) / 7;
}

class Record {
 public:
  void Clear() {
    types_.clear();
    body_.clear();
  }
  void Null() { types_.push_back('\0'); }
  void Int(int64_t value);
  void Real(double value);
  void Text(std::string_view text) {
    BeginText()->append(text);
    EndText();
  }
  // The body: append the text to it, then call EndText().
  std::string* BeginText() {
    text_begin_ = body_.size();
    return &body_;
  }
  void EndText() { AppendVarint((body_.size() - text_begin_) * 2 + 13, &types_); }

  // The record is its header, that is the header's size and the types, with the body behind.
  std::string_view types() const { return types_; }
  std::string_view body() const { return body_; }
  size_t header_bytes() const {
    // Counts itself; no record of ours has so many columns that this takes three bytes.
    return types_.size() + (types_.size() < 127 ? 1 : 2);
  }
  size_t size() const { return header_bytes() + body_.size(); }

 private:
  std::string types_;
  std::string body_;
  size_t text_begin_ = 0;
};

}  // namespace sonde::precision::sqlite

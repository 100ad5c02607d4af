// A growing text that the JSON and CSV writers append to; with a file, it is written to the file
// whenever it is full.
//
// Errors: a failed write is kept by the AtomicFile, whose Commit() returns it.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"

namespace sonde::base {

class TextBuffer {
 public:
  // `file` may be null: then everything stays here until Take(). Else it must outlive the buffer.
  explicit TextBuffer(AtomicFile* file)
      : file_(file),
        capacity_(file == nullptr ? kFirstBytes : kFileBytes),
        data_(new char[capacity_]) {}

  void Append(std::string_view text) {
    char* out = Reserve(text.size());
    if (!text.empty()) std::memcpy(out, text.data(), text.size());  // memcpy takes no null
    size_ += text.size();
  }
  void Append(char c) {
    *Reserve(1) = c;
    ++size_;
  }
  // Room for `size` characters; Advance() then takes the number that was written.
  char* Reserve(size_t size) {
    if (capacity_ - size_ < size) [[unlikely]]
      MakeRoom(size);
    return data_.get() + size_;
  }
  void Advance(size_t size) { size_ += size; }

  // Writes everything to the file; needs one.
  Status Flush();
  // All the text since the start or the last Take(); needs a buffer without file.
  std::string Take();

 private:
  static constexpr size_t kFirstBytes = 256;              // doubled as the text grows
  static constexpr size_t kFileBytes = size_t{1} << 20U;  // one write to the file

  void MakeRoom(size_t size);

  AtomicFile* file_;
  size_t size_ = 0;
  size_t capacity_;
  std::unique_ptr<char[]> data_;
};

}  // namespace sonde::base

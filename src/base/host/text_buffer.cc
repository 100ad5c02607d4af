#include "base/host/text_buffer.h"

#include <algorithm>
#include <utility>

namespace sonde::base {

Status TextBuffer::Flush() {
  CHECK(file_ != nullptr);
  return file_->Append({data_.get(), std::exchange(size_, 0)});
}

std::string TextBuffer::Take() {
  CHECK(file_ == nullptr);
  return {data_.get(), std::exchange(size_, 0)};
}

void TextBuffer::MakeRoom(size_t size) {
  if (file_ != nullptr) Flush().IgnoreError();  // the file keeps its first error for Commit()
  if (capacity_ - size_ >= size) return;
  const size_t capacity = std::max(capacity_ * 2, size_ + size);
  std::unique_ptr<char[]> larger(new char[capacity]);
  std::memcpy(larger.get(), data_.get(), size_);
  data_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace sonde::base

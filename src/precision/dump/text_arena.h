// Keeps many short texts alive at stable addresses, packed into large blocks.
//
// Views handed out stay valid until the arena is destroyed; moving the arena keeps them. No single
// text is ever freed. Threads: one writer.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

namespace sonde::precision {

class TextArena {
 public:
  std::string_view Store(std::string_view text) { return Concat({text}); }

  std::string_view Concat(std::initializer_list<std::string_view> parts) {
    size_t size = 0;
    for (const auto part : parts) size += part.size();
    char* const out = Reserve(size);
    char* to = out;
    for (const auto part : parts) {
      if (!part.empty()) std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
    return {out, size};
  }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 18U;

  char* Reserve(size_t size) {
    if (size > left_) {
      const size_t block = std::max(size, kBlockBytes);
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
      next_ = blocks_.back().get();
      left_ = block;
    }
    char* const out = next_;
    next_ += size;
    left_ -= size;
    return out;
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace sonde::precision

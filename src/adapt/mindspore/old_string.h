// A std::string of MindSpore's libraries, which have the ABI from before C++11: one pointer to the
// characters, with length, capacity and reference count before them. Only read here.
#ifndef SONDE_ADAPT_MINDSPORE_OLD_STRING_H_
#define SONDE_ADAPT_MINDSPORE_OLD_STRING_H_

#include <cstddef>
#include <cstring>
#include <string_view>

namespace sonde::adapt {

struct OldString {
  const char* text;

  std::string_view view() const {
    size_t length = 0;
    std::memcpy(&length, text - 3 * sizeof(size_t), sizeof(length));
    return {text, length};
  }
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_MINDSPORE_OLD_STRING_H_

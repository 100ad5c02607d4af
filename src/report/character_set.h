// Whether a text has one of some characters: a table look-up each, where find_first_of() of the
// library searches the set for each character.
//
// Pure, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace sonde::report {

class CharacterSet {
 public:
  constexpr explicit CharacterSet(std::string_view members) {
    for (const char member : members) has_[static_cast<unsigned char>(member)] = true;
  }

  // With all that is no printable ASCII: control characters, and every byte of other letters.
  constexpr CharacterSet AndUnprintable() const {
    CharacterSet more = *this;
    for (size_t c = 0; c < more.has_.size(); ++c) {
      if (c < ' ' || c >= 0x7f) more.has_[c] = true;
    }
    return more;
  }

  constexpr bool Has(char c) const { return has_[static_cast<unsigned char>(c)]; }
  // The first place from `begin` on; the length of the text where there is none.
  constexpr size_t FindIn(std::string_view text, size_t begin = 0) const {
    while (begin < text.size() && !Has(text[begin])) ++begin;
    return std::min(begin, text.size());
  }
  constexpr bool IsIn(std::string_view text) const { return FindIn(text) < text.size(); }

 private:
  std::array<bool, 256> has_{};
};

}  // namespace sonde::report

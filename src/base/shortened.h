// Short forms of names for sentences and narrow tables: generated kernels have very long ones.
// Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde::base {

// At most `most` bytes, the last `tail_bytes` of them the end of the name, the middle as "..."; no
// letter of UTF-8 is cut. `most` is ten more than `tail_bytes` at least.
inline std::string Shortened(std::string_view name, size_t most = 72, size_t tail_bytes = 20) {
  constexpr std::string_view kMiddle = "...";
  if (name.size() <= most) return std::string(name);
  const auto is_inside_a_letter = [&](size_t at) { return (name[at] & 0xC0) == 0x80; };
  size_t head = most - tail_bytes - kMiddle.size();
  while (head > 0 && is_inside_a_letter(head)) --head;
  size_t tail = name.size() - tail_bytes;
  while (tail < name.size() && is_inside_a_letter(tail)) ++tail;
  std::string text(name.substr(0, head));
  text += kMiddle;
  text += name.substr(tail);
  return text;
}

}  // namespace sonde::base

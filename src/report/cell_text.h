// The part of a text that a cell of a workbook can hold. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde::report {

// The format counts letters, of which there are no more than bytes.
inline constexpr size_t kMaxCellBytes = 32'767;

// The front of a UTF-8 text that fits. Half a letter at its end would make the file unreadable.
inline std::string CellText(std::string_view text) {
  if (text.size() <= kMaxCellBytes) return std::string(text);
  constexpr unsigned kLetterMask = 0xC0;
  constexpr unsigned kContinued = 0x80;
  size_t end = kMaxCellBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & kLetterMask) == kContinued) --end;
  return std::string(text.substr(0, end));
}

}  // namespace sonde::report

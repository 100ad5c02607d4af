#include "base/check.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace sonde::base::internal {
namespace {

// Appends to a fixed buffer and cuts the rest: the process is about to end.
struct Line {
  std::array<char, 1024> text;
  size_t size = 0;

  void Add(std::string_view part) {
    const size_t n = std::min(part.size(), text.size() - size);
    std::copy_n(part.data(), n, text.data() + size);
    size += n;
  }
};

}  // namespace

void CheckFailed(const char* file, int line, const char* condition, std::string_view text) {
  Line out;
  std::array<char, 16> number;
  const auto end = std::to_chars(number.data(), number.data() + number.size(), line).ptr;
  out.Add("sonde: internal error at ");
  out.Add(file);
  out.Add(":");
  out.Add({number.data(), static_cast<size_t>(end - number.data())});
  out.Add(": CHECK failed: ");
  out.Add(condition);
  if (!text.empty()) {
    out.Add(": ");
    out.Add(text.substr(0, 512));
  }
  out.Add("\n");
  // Nothing is left to do when even this write fails.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, out.text.data(), out.size);
  std::abort();
}

}  // namespace sonde::base::internal

// The pieces that trace_view.json is made of: each formats a range of events, independent of the
// others, so that they can be made in parallel (format/file_set.h).
//
// Every event begins with ", "; only the very first of the file does not.
// Threads: pieces are added by one thread; they run in any, in any order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "exporters/format/line_buffer.h"

namespace sonde::exporters {

class TracePieces {
 public:
  using Format = std::function<void(LineBuffer& out)>;

  // Ranges of [0, count), each formatted by one call of `format(begin, end, out)`.
  template <class RangeFormat>
  void AddRanges(size_t count, size_t range_size, const RangeFormat& format) {
    for (size_t begin = 0; begin < count; begin += range_size) {
      const size_t end = std::min(begin + range_size, count);
      pieces_.push_back([=](LineBuffer& out) { format(begin, end, out); });
    }
  }
  void Add(Format format) { pieces_.push_back(std::move(format)); }
  // Takes the pieces of another one, behind those of this one.
  void Append(TracePieces other) {
    for (Format& format : other.pieces_) pieces_.push_back(std::move(format));
  }

  size_t size() const { return pieces_.size(); }
  void Run(size_t index, LineBuffer& out) const { pieces_[index](out); }

 private:
  std::vector<Format> pieces_;
};

}  // namespace sonde::exporters

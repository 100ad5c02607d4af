// One metric of a comparison: a number, a percentage, or one of the fixed words of the reference.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/strings.h"

namespace sonde::precision {

struct Cell {
  enum class Kind : uint8_t {
    kNumber,          // 0.25
    kPercent,         // 25.0%
    kSame,            // 0: the two texts are equal
    kInf,             // inf
    kNegInf,          // -inf
    kNan,             // Nan
    kNotAvailable,    // N/A
    kDiffer,          // Diff: two values that have no difference
    kUnsupported,     // unsupported
    kShapeUnmatched,  // shape unmatched
  };

  Kind kind = Kind::kNotAvailable;
  double value = 0;  // kNumber, kPercent (per cent)

  static Cell Of(Kind kind) { return {kind, 0}; }
  static Cell Number(double value) { return {Kind::kNumber, value}; }
  static Cell Percent(double value) { return {Kind::kPercent, value}; }

  void AppendTo(std::string* out) const {
    base::NumberBuffer buffer;
    switch (kind) {
      case Kind::kNumber:
        if (value != value) {
          out->append("Nan");
          return;
        }
        // As for statistics: a blank before an infinity that was computed.
        if (value - value != 0) out->push_back(' ');
        out->append(base::FormatPythonDouble(value, buffer));
        return;
      case Kind::kPercent:
        out->append(base::FormatPythonDouble(value, buffer));
        out->push_back('%');
        return;
      case Kind::kSame:
        out->push_back('0');
        return;
      case Kind::kInf:
        out->append("inf");
        return;
      case Kind::kNegInf:
        out->append("-inf");
        return;
      case Kind::kNan:
        out->append("Nan");
        return;
      case Kind::kNotAvailable:
        out->append("N/A");
        return;
      case Kind::kDiffer:
        out->append("Diff");
        return;
      case Kind::kUnsupported:
        out->append("unsupported");
        return;
      case Kind::kShapeUnmatched:
        out->append("shape unmatched");
        return;
    }
  }
};

// A number as the tables of texts show it: `Nan`, ` inf`, else as Python writes it.
inline std::string NumberText(double value) {
  std::string out;
  Cell::Number(value).AppendTo(&out);
  return out;
}

}  // namespace sonde::precision

// The Python call path of the current thread as the texts of its frames, each text made once.
//
// Threads: the GIL. Memory: code objects that were met stay referenced for good.
#ifndef SONDE_ADAPT_PROBE_FRAME_WALK_H_
#define SONDE_ADAPT_PROBE_FRAME_WALK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapt/probe/python_calls.h"
#include "adapt/python/python_frames.h"

namespace sonde::adapt {

class FrameWalk {
 public:
  // `describe(code, line)` gives the text of a frame, or None for one that is left out.
  FrameWalk(const PythonCalls& calls, PyObject* describe) : calls_(calls), describe_(describe) {}

  // JSON texts, innermost first; they live as long as this object. False: a Python exception.
  bool Collect(std::vector<std::string_view>* frames);

 private:
  struct Place {
    PyObject* code;
    int64_t offset;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const {
      return reinterpret_cast<uintptr_t>(place.code) * 31U + static_cast<size_t>(place.offset);
    }
  };
  bool TextOfFrame(const PythonFrame& frame, std::string_view* text);

  const PythonCalls& calls_;
  PyObject* describe_;
  std::unordered_map<Place, std::string, PlaceHash> texts_;  // empty: left out
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PROBE_FRAME_WALK_H_

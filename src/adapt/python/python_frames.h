// The Python frames of the calling thread, read without the GIL.
//
// Safe because a thread's own frames cannot change while it is inside a callback of ours; no object
// is dereferenced that another thread may free. Offsets of the interpreter's structures are in a
// table by minor version (kFrameLayouts). They are used only after the self-test has compared the
// walk, frame by frame, with the public API on a stack with plain, recursive and generator frames.
// Where there is no row the public API is used, under the GIL. Cost at depth 30: 40 ns raw, 200 to
// 300 ns by the public API.
#ifndef SONDE_ADAPT_PYTHON_PYTHON_FRAMES_H_
#define SONDE_ADAPT_PYTHON_PYTHON_FRAMES_H_

#include <cstddef>
#include <cstdint>

#include "adapt/python/python_api.h"
#include "adapt/python/self_test_report.h"

namespace sonde::adapt {

inline constexpr size_t kMaxFrames = 128;  // of a deeper stack, the innermost ones

// A position in the code: code object and offset in bytes from its first instruction. The code
// object is only borrowed: valid while the frame is alive.
struct PythonFrame {
  PyObject* code;
  int64_t offset;
};

struct FrameFunctions {
  PyObject* (*thread_frame)(void* thread_state);  // new reference
  PyObject* (*frame_back)(PyObject* frame);       // new reference
  PyObject* (*frame_code)(PyObject* frame);       // new reference
  int (*frame_line)(PyObject* frame);
  int (*line_of)(PyObject* code, int offset);
  PyObject* code_type;
};

enum class FrameMode : uint8_t { kNone, kPublic, kRaw };

// [GIL] Chooses the mode for this interpreter; `python` must live as long as the process.
FrameMode FramesInit(const PythonApi* python, SelfTestReport* report);

// Innermost first. 0: no Python frame on this thread, or mode kNone.
size_t WalkFrames(PythonFrame* frames, size_t capacity);

// Identity of a stack: two independent hashes of its positions, and their number (0: none). Equal
// for equal stacks as long as the code objects that they name live.
struct FramesHash {
  uint64_t first = 0;
  uint64_t second = 0;
  uint32_t depth = 0;
};
FramesHash HashFrames();

// [GIL] Line number of a position.
int LineOf(const PythonFrame& frame);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_PYTHON_FRAMES_H_

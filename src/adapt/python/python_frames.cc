#include "adapt/python/python_frames.h"

#include <dlfcn.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "adapt/python/read_at.h"

namespace sonde::adapt {
namespace {

// How a version links frames. `thread`: offset in the thread state of the innermost frame, or of
// a pointer to a structure that has it at `indirect`. Instruction: a 32-bit index times `scale`
// (up to 3.10), or a pointer into the code object, whose instructions begin at `code_begin`.
struct FrameLayout {
  int minor;
  uint16_t thread;
  int16_t indirect;  // -1: none
  uint16_t previous;
  uint16_t code;
  uint16_t instruction;
  uint16_t scale;  // 0: instruction is a pointer
  uint16_t owner;  // byte; 0: frames have no owner
  uint16_t code_begin;
  uint16_t code_traceable;  // int: instructions before it are set-up, the frame is incomplete
};
constexpr FrameLayout kFrameLayouts[] = {
    {9, 24, -1, 24, 32, 104, 1, 0, 0, 0},     {10, 24, -1, 24, 32, 96, 2, 0, 0, 0},
    {11, 56, 8, 48, 32, 56, 0, 69, 184, 168}, {12, 56, 0, 8, 0, 56, 0, 70, 192, 176},
    {13, 72, -1, 8, 0, 56, 0, 70, 200, 184},
};
constexpr uint8_t kOwnerGenerator = 1;
constexpr uint8_t kOwnerCStack = 3;
constexpr int64_t kInstructionBytes = 2;

using HashWalk = FramesHash (*)();

struct Frames {
  const PythonApi* python = nullptr;
  const FrameLayout* layout = nullptr;
  HashWalk hash = nullptr;  // for `layout`
  FrameMode mode = FrameMode::kNone;
  FrameFunctions functions = {};
};
Frames g_frames;

// A frame of 3.11 and newer. False: not one of Python code that has begun.
inline bool ReadFrame(const FrameLayout& layout, const char* frame, PythonFrame* out) {
  const auto owner = ReadAt<uint8_t>(frame, layout.owner);
  if (owner == kOwnerCStack) return false;
  auto* code = ReadAt<PyObject*>(frame, layout.code);
  if (code == nullptr || code->type != g_frames.functions.code_type) return false;
  const char* begin = reinterpret_cast<const char*>(code) + layout.code_begin;
  out->code = code;
  out->offset = ReadAt<const char*>(frame, layout.instruction) - begin;
  return owner == kOwnerGenerator ||
         out->offset >= ReadAt<int32_t>(code, layout.code_traceable) * kInstructionBytes;
}

// Innermost frame of this thread, or nullptr.
inline const char* TopFrame(const FrameLayout& layout) {
  const void* state = g_frames.python->gil_this_thread_state();
  if (state == nullptr) return nullptr;
  const auto* frame = ReadAt<const char*>(state, layout.thread);
  if (layout.indirect >= 0 && frame != nullptr) {
    frame = ReadAt<const char*>(frame, static_cast<size_t>(layout.indirect));
  }
  return frame;
}

size_t WalkRaw(PythonFrame* frames, size_t capacity) {
  const FrameLayout& layout = *g_frames.layout;
  size_t count = 0;
  for (const char* frame = TopFrame(layout); frame != nullptr && count < capacity;
       frame = ReadAt<const char*>(frame, layout.previous)) {
    if (layout.scale != 0) {
      frames[count].code = ReadAt<PyObject*>(frame, layout.code);
      frames[count].offset = int64_t{ReadAt<int32_t>(frame, layout.instruction)} * layout.scale;
      count++;
    } else if (ReadFrame(layout, frame, &frames[count])) {
      count++;
    }
  }
  return count;
}

inline void Mix(uint64_t position, FramesHash* hash) {
  // Two multiplications that do not wait for each other; the walk itself waits longer.
  hash->first = std::rotl((hash->first ^ position) * 0x9e3779b97f4a7c15u, 29);
  hash->second = std::rotl((hash->second + position) * 0xbf58476d1ce4e5b9u, 31);
  hash->depth++;
}

// The offsets are constants here, and an instruction's address alone identifies code and position:
// a third of the time of WalkRaw. Frames that WalkRaw leaves out do no harm: equal stacks give
// equal hashes.
template <size_t kRow>
FramesHash HashRaw() {
  constexpr FrameLayout kLayout = kFrameLayouts[kRow];
  FramesHash hash;
  for (const char* frame = TopFrame(kLayout); frame != nullptr && hash.depth < kMaxFrames;
       frame = ReadAt<const char*>(frame, kLayout.previous)) {
    if constexpr (kLayout.scale != 0) {
      const auto instruction = int64_t{ReadAt<int32_t>(frame, kLayout.instruction)};
      Mix(ReadAt<uint64_t>(frame, kLayout.code) +
              static_cast<uint64_t>(instruction * kLayout.scale),
          &hash);
    } else if (ReadAt<uint8_t>(frame, kLayout.owner) != kOwnerCStack) {
      Mix(ReadAt<uint64_t>(frame, kLayout.instruction), &hash);
    }
  }
  return hash;
}

template <size_t... kRows>
HashWalk HashWalkOf(size_t row, std::index_sequence<kRows...>) {
  constexpr HashWalk kWalks[] = {HashRaw<kRows>...};
  return kWalks[row];
}

// [GIL] By the public API; the offset is the line number, which LineOf() then gives back.
size_t WalkPublic(PythonFrame* frames, size_t capacity) {
  const PythonApi& python = *g_frames.python;
  void* state = python.gil_this_thread_state();
  PyObject* frame = state != nullptr ? g_frames.functions.thread_frame(state) : nullptr;
  size_t count = 0;
  while (frame != nullptr && count < capacity) {
    PyObject* code = g_frames.functions.frame_code(frame);
    frames[count++] = {code, g_frames.functions.frame_line(frame)};
    python.release(code);  // the frame keeps it
    PyObject* back = g_frames.functions.frame_back(frame);
    python.release(frame);
    frame = back;
  }
  python.release(frame);
  return count;
}

bool FindFunctions(FrameFunctions* functions) {
  auto look = [](const char* name, auto* out) {
    void* address = dlsym(RTLD_DEFAULT, name);
    *out = reinterpret_cast<std::remove_pointer_t<decltype(out)>>(address);
    return address != nullptr;
  };
  return look("PyThreadState_GetFrame", &functions->thread_frame) &&
         look("PyFrame_GetBack", &functions->frame_back) &&
         look("PyFrame_GetCode", &functions->frame_code) &&
         look("PyFrame_GetLineNumber", &functions->frame_line) &&
         look("PyCode_Addr2Line", &functions->line_of) &&
         look("PyCode_Type", &functions->code_type);
}

// Called by the self-test's program at the bottom of its stack.
struct Comparison {
  bool called = false;
  bool agree = true;
  size_t depth = 0;
};
Comparison g_comparison;

PyObject* Compare(PyObject*, PyObject*) {
  static PythonFrame raw[kMaxFrames];
  static PythonFrame open[kMaxFrames];
  const size_t raw_count = WalkRaw(raw, kMaxFrames);
  const size_t open_count = WalkPublic(open, kMaxFrames);
  bool agree = raw_count == open_count && raw_count > 0;
  for (size_t i = 0; i < raw_count && agree; i++) {
    agree =
        raw[i].code == open[i].code &&
        g_frames.functions.line_of(raw[i].code, static_cast<int>(raw[i].offset)) == open[i].offset;
  }
  g_comparison.called = true;
  g_comparison.agree = g_comparison.agree && agree;
  if (raw_count > g_comparison.depth) g_comparison.depth = raw_count;
  return g_frames.python->long_from_u64(0);
}

PyMethod g_compare = {"compare", Compare, kPyMethodVarargs, nullptr};

constexpr char kProgram[] = R"py(
def recurse(depth):
    if depth == 0:
        return compare()
    return recurse(
        depth - 1)

def generate():
    yield compare()
    yield recurse(3)

class Object:
    def __add__(self, other):
        return recurse(2)
    def __call__(self):
        return [compare() for _ in range(2)]

compare()
recurse(12)
list(generate())
Object() + 1
Object()()
sorted([2, 1], key=lambda x: recurse(x))
done = 1
)py";

bool RawAgrees() {
  const PythonApi& python = *g_frames.python;
  g_comparison = Comparison();
  const NamedObject object = {"compare", python.function_new(&g_compare, nullptr, nullptr)};
  uint64_t done = 0;
  const bool ran = RunProgram(python, kProgram, &object, 1, "done", &done);
  python.release(object.object);
  return ran && done == 1 && g_comparison.called && g_comparison.agree && g_comparison.depth > 12;
}

}  // namespace

FrameMode FramesInit(const PythonApi* python, SelfTestReport* report) {
  g_frames.python = python;
  if (!FindFunctions(&g_frames.functions)) {
    report->Add("Python stacks", false, "no function to read frames; stacks are not recorded");
    return g_frames.mode;
  }
  constexpr size_t kRows = std::size(kFrameLayouts);
  for (size_t row = 0; row < kRows; row++) {
    if (kFrameLayouts[row].minor != python->minor || python->free_threaded) continue;
    g_frames.layout = &kFrameLayouts[row];
    g_frames.hash = HashWalkOf(row, std::make_index_sequence<kRows>());
  }
  g_frames.mode = FrameMode::kPublic;
  if (g_frames.layout != nullptr && RawAgrees()) g_frames.mode = FrameMode::kRaw;
  const bool raw = g_frames.mode == FrameMode::kRaw;
  report->Add("Python stacks", raw,
              raw ? "" : "frames of this Python are read under its lock, more slowly");
  return g_frames.mode;
}

size_t WalkFrames(PythonFrame* frames, size_t capacity) {
  if (g_frames.mode == FrameMode::kRaw) [[likely]]
    return WalkRaw(frames, capacity);
  if (g_frames.mode == FrameMode::kNone) return 0;
  if (g_frames.python->gil_this_thread_state() == nullptr) return 0;
  const GilScope gil(*g_frames.python);
  return gil.held() ? WalkPublic(frames, capacity) : 0;
}

FramesHash HashFrames() {
  if (g_frames.mode == FrameMode::kRaw) [[likely]]
    return g_frames.hash();
  PythonFrame frames[kMaxFrames];
  const size_t count = WalkFrames(frames, kMaxFrames);
  FramesHash hash;
  for (size_t i = 0; i < count; i++) {
    Mix(reinterpret_cast<uint64_t>(frames[i].code) + static_cast<uint64_t>(frames[i].offset),
        &hash);
  }
  return hash;
}

int LineOf(const PythonFrame& frame) {
  if (g_frames.mode == FrameMode::kPublic) return static_cast<int>(frame.offset);
  return g_frames.functions.line_of(frame.code, static_cast<int>(frame.offset));
}

}  // namespace sonde::adapt

#include "adapt/python/stacks.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "capture/compiled_code.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

struct PositionHash {
  size_t operator()(const PythonFrame& frame) const {
    return base::HashCombine(reinterpret_cast<uint64_t>(frame.code),
                             static_cast<uint64_t>(frame.offset));
  }
};
struct PositionEqual {
  bool operator()(const PythonFrame& a, const PythonFrame& b) const {
    return a.code == b.code && a.offset == b.offset;
  }
};

// Shared by all threads, used under the GIL; code objects referenced for good.
struct Positions {
  const PythonApi* python = nullptr;
  std::unordered_map<PythonFrame, uint32_t, PositionHash, PositionEqual> frames;
  std::unordered_set<PyObject*> codes;
};
Positions& Shared() {
  static auto* positions = new Positions();  // never destroyed: threads may outlive static objects
  return *positions;
}

uint32_t InternAttribute(const PythonApi& python, PyObject* code, const char* attribute) {
  PyObject* value = python.get_attribute(code, attribute);
  intptr_t length = 0;
  const char* text = value != nullptr ? python.utf8(value, &length) : nullptr;
  const uint32_t id =
      text != nullptr ? sonde_intern(text, static_cast<size_t>(length)) : sonde_intern("?", 1);
  python.error_clear();
  python.release(value);
  return id;
}

// [GIL]
uint32_t FrameId(const PythonFrame& position) {
  Positions& shared = Shared();
  const auto found = shared.frames.find(position);
  if (found != shared.frames.end()) return found->second;
  const PythonApi& python = *shared.python;
  if (shared.codes.insert(position.code).second) python.retain(position.code);
  const int line = LineOf(position);
  const uint32_t id = sonde_frame_intern(InternAttribute(python, position.code, "co_name"),
                                         InternAttribute(python, position.code, "co_filename"),
                                         line > 0 ? static_cast<uint32_t>(line) : 0);
  shared.frames.emplace(position, id);
  return id;
}

[[gnu::noinline]] uint32_t InternStack(const PythonFrame* frames, size_t count) {
  const PythonApi& python = *Shared().python;
  const GilScope gil(python);
  if (!gil.held()) return 0;
  // A pending exception of this thread must survive the look-ups.
  PyObject* error[3] = {nullptr, nullptr, nullptr};
  python.error_fetch(&error[0], &error[1], &error[2]);
  uint32_t ids[kMaxFrames];
  for (size_t i = 0; i < count; i++) ids[i] = FrameId(frames[i]);
  python.error_restore(error[0], error[1], error[2]);
  return sonde_stack_intern(ids, count);
}

}  // namespace

void StacksInit(const PythonApi* python) { Shared().python = python; }

uint32_t StackCache::Capture() {
  const FramesHash frames_hash = HashFrames();
  if (frames_hash.depth == 0) return 0;
  const uint64_t hash = base::HashCombine(frames_hash.first, frames_hash.second) | 1;
  uint32_t id = 0;
  if (ids_.Find(hash, &id)) [[likely]] {
    return id;
  }
  PythonFrame frames[kMaxFrames];
  const size_t count = WalkFrames(frames, kMaxFrames);
  id = count != 0 ? InternStack(frames, count) : 0;
  if (id != 0) ids_.Add(hash, id);
  return id;
}

uint32_t StackCache::CaptureCallSite() {
  PythonFrame frames[capture::kCallSiteFrames];
  const size_t count = WalkFrames(frames, capture::kCallSiteFrames);
  if (count == 0) return 0;
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++) {
    hash = base::HashCombine(hash, reinterpret_cast<uint64_t>(frames[i].code));
    hash = base::HashCombine(hash, static_cast<uint64_t>(frames[i].offset));
  }
  hash |= 1;
  uint32_t id = 0;
  if (ids_.Find(hash, &id)) [[likely]] {
    return id;
  }
  id = InternStack(frames, count);
  if (id != 0) ids_.Add(hash, id);
  return id;
}

}  // namespace sonde::adapt

#include "adapt/probe/frame_walk.h"

#include "probe/json_text.h"

namespace sonde::adapt {

bool FrameWalk::TextOfFrame(PyObject* frame, std::string_view* text) {
  const PyOwned code(calls_, calls_.frame_code(frame));
  const int position = calls_.frame_instruction != nullptr ? calls_.frame_instruction(frame)
                                                           : calls_.frame_line(frame);
  const Place place = {.code = code.get(), .position = position};
  const auto known = texts_.find(place);
  if (known != texts_.end()) {
    *text = known->second;
    return true;
  }
  const PyOwned line(calls_, calls_.long_from_u64(static_cast<uint64_t>(calls_.frame_line(frame))));
  const PyOwned answer(calls_, calls_.call(describe_, code.get(), line.get(), nullptr));
  if (!answer) return false;
  std::string quoted;
  std::string_view chars;
  if (answer.get() != calls_.none && TextOf(calls_, answer.get(), &chars)) {
    probe::AppendQuoted(quoted, chars);
  }
  calls_.retain(code.get());
  *text = texts_.emplace(place, std::move(quoted)).first->second;
  return true;
}

bool FrameWalk::Collect(std::vector<std::string_view>* frames) {
  PyObject* frame = calls_.current_frame();
  if (frame == nullptr) return true;
  calls_.retain(frame);
  bool is_ok = true;
  while (frame != nullptr) {
    std::string_view text;
    is_ok = is_ok && TextOfFrame(frame, &text);
    if (is_ok && !text.empty()) frames->push_back(text);
    PyObject* const outer = is_ok ? calls_.frame_back(frame) : nullptr;
    calls_.release(frame);
    frame = outer;
  }
  return is_ok;
}

}  // namespace sonde::adapt

#include "adapt/probe/frame_walk.h"

#include <array>

#include "probe/json_text.h"

namespace sonde::adapt {

bool FrameWalk::TextOfFrame(const PythonFrame& frame, std::string_view* text) {
  const Place place = {.code = frame.code, .offset = frame.offset};
  const auto known = texts_.find(place);
  if (known != texts_.end()) {
    *text = known->second;
    return true;
  }
  const PyOwned line(calls_, calls_.long_from_u64(static_cast<uint64_t>(LineOf(frame))));
  const PyOwned answer(calls_, calls_.call(describe_, frame.code, line.get(), nullptr));
  if (!answer) return false;
  std::string quoted;
  std::string_view chars;
  if (answer.get() != calls_.none && TextOf(calls_, answer.get(), &chars)) {
    probe::AppendQuoted(quoted, chars);
  }
  calls_.retain(frame.code);
  *text = texts_.emplace(place, std::move(quoted)).first->second;
  return true;
}

bool FrameWalk::Collect(std::vector<std::string_view>* frames) {
  std::array<PythonFrame, kMaxFrames> found;
  const size_t count = WalkFrames(found.data(), found.size());
  // The frames live on while describe() runs: they are below it.
  for (size_t i = 0; i < count; i++) {
    std::string_view text;
    if (!TextOfFrame(found[i], &text)) return false;
    if (!text.empty()) frames->push_back(text);
  }
  return true;
}

}  // namespace sonde::adapt

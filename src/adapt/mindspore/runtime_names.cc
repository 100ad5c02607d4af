#include "adapt/mindspore/runtime_names.h"

#include <string>

#include "capture/mindspore_names.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

uint32_t Intern(std::string_view text) { return sonde_intern(text.data(), text.size()); }

}  // namespace

uint32_t RuntimeNames::Add(uint64_t hash, uint32_t module, uint32_t event, std::string_view text) {
  uint32_t id = 0;
  if (capture::IsMindsporeLaunch(event)) {
    id = Intern(text);
  } else {
    std::string name = capture::MindsporeNameAt(capture::kMindsporeModules, module);
    name.append("::").append(capture::MindsporeNameAt(capture::kMindsporeEvents, event));
    if (!text.empty()) name.append("::").append(text);
    id = Intern(name);
  }
  ids_.Add(hash, id);
  return id;
}

uint32_t StageName(uint32_t stage) {
  constexpr size_t kCount = capture::kMindsporeStages.size();
  static uint32_t ids[kCount] = {};  // an id is written twice at worst, and is the same
  if (stage >= kCount) return Intern(std::to_string(stage));
  uint32_t id = __atomic_load_n(&ids[stage], __ATOMIC_RELAXED);
  if (id == 0) {
    id = Intern(capture::kMindsporeStages[stage]);
    __atomic_store_n(&ids[stage], id, __ATOMIC_RELAXED);
  }
  return id;
}

}  // namespace sonde::adapt

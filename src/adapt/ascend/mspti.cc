#include "adapt/ascend/mspti.h"

#include <dlfcn.h>

namespace sonde::adapt::ascend {
namespace {

template <class Function>
bool Find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

}  // namespace

std::string FindMspti(Mspti* mspti) {
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!Find(name, function) && missing == nullptr) missing = name;
  };
  find("msptiSubscribe", &mspti->subscribe);
  if (missing != nullptr) return "libmspti.so is not loaded in this process";
  find("msptiUnsubscribe", &mspti->unsubscribe);
  find("msptiActivityRegisterCallbacks", &mspti->register_callbacks);
  find("msptiActivityEnable", &mspti->enable);
  find("msptiActivityDisable", &mspti->disable);
  find("msptiActivityGetNextRecord", &mspti->next_record);
  find("msptiActivityFlushAll", &mspti->flush_all);
  find("msptiActivityFlushPeriod", &mspti->flush_period);
  if (missing == nullptr) return "";
  return std::string("libmspti.so has no ") + missing + ": a newer CANN is needed";
}

std::string MsptiProblem(const char* call, int result) {
  std::string text = "tasks of the NPU are not recorded: ";
  if (result == kMsptiOtherSubscriber) {
    return text + "another profiler of this process has subscribed to libmspti.so; stop it";
  }
  if (result == kMsptiWithoutPreload) {
    return text + "libmspti.so was not loaded first; start the program by sonde run";
  }
  return text + call + " answered " + std::to_string(result);
}

}  // namespace sonde::adapt::ascend

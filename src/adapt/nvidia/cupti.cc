#include "adapt/nvidia/cupti.h"

#include "adapt/nvidia/loaded_library.h"

namespace sonde::adapt::nvidia {

std::string FindCupti(Cupti* cupti) {
  const LoadedLibrary library("libcupti.so");
  if (!library.is_there()) {
    return "libcupti.so is not loaded in this process; a torch built for CUDA loads it";
  }
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!library.Find(name, function) && missing == nullptr) missing = name;
  };
  find("cuptiSubscribe", &cupti->subscribe);
  find("cuptiUnsubscribe", &cupti->unsubscribe);
  find("cuptiActivityRegisterCallbacks", &cupti->register_callbacks);
  find("cuptiActivityEnable", &cupti->enable);
  find("cuptiActivityDisable", &cupti->disable);
  find("cuptiActivityGetNextRecord", &cupti->next_record);
  find("cuptiActivityGetNumDroppedRecords", &cupti->dropped);
  find("cuptiActivityFlushAll", &cupti->flush_all);
  find("cuptiGetTimestamp", &cupti->timestamp);
  find("cuptiGetCallbackName", &cupti->callback_name);
  find("cuptiGetResultString", &cupti->result_text);
  find("cuptiSetThreadIdType", &cupti->thread_id_type);
  if (missing != nullptr) {
    return std::string("libcupti.so has no ") + missing + ": CUDA 11 or newer is needed";
  }
  library.Find("cuptiActivityFlushPeriod", &cupti->flush_period);
  return "";
}

std::string CuptiProblem(const Cupti& cupti, const char* call, int result) {
  const std::string text = "tasks of the GPU are not recorded: ";
  if (result == kCuptiMultipleSubscribers) {
    return text + "another profiler of this process uses CUPTI (torch.profiler, Nsight); stop it";
  }
  if (result == kCuptiInsufficientPrivileges) {
    return text + "this user may not trace the GPU (NVreg_RestrictProfilingToAdminUsers of the " +
           "driver); ask the administrator of the machine";
  }
  const char* name = nullptr;
  cupti.result_text(result, &name);
  return text + call + " answered " + (name == nullptr ? std::to_string(result) : name);
}

}  // namespace sonde::adapt::nvidia

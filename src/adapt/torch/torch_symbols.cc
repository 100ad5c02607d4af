#include "adapt/torch/torch_symbols.h"

#include <dlfcn.h>

namespace sonde::adapt {
namespace {

template <typename T>
const char* Look(void* library, const char* name, T* out) {
  void* address = dlsym(library, name);
  *out = reinterpret_cast<T>(address);
  return address != nullptr ? nullptr : name;
}

// A library that the process has loaded; the reference is kept for the life of the process, since
// callbacks of ours may run as long as torch does.
void* Loaded(const char* name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD); }

}  // namespace

const char* FindTorchSymbols(TorchSymbols* symbols) {
  void* cpu = Loaded("libtorch_cpu.so");
  if (cpu == nullptr) return "libtorch_cpu.so";
  const char* missing = nullptr;
  auto need = [&missing](const char* name) {
    if (missing == nullptr) missing = name;
  };
  need(Look(cpu, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE",
            &symbols->add_global_callback));
  need(Look(cpu, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE",
            &symbols->add_thread_local_callback));
  need(Look(cpu, "_ZN2at14removeCallbackEm", &symbols->remove_callback));
  need(Look(cpu, "_ZNK2at14RecordFunction4nameEv", &symbols->range_name));
  need(Look(cpu, "_ZNK2at14RecordFunction10num_inputsEv", &symbols->range_num_inputs));
  need(Look(cpu, "_ZNK2at14RecordFunction7isAsyncEv", &symbols->range_is_async));
  // libtorch_cpu depends on libc10, so that a search from it finds the singleton, too.
  need(Look(cpu, "_ZN3c1019UndefinedTensorImpl10_singletonE", &symbols->undefined_tensor));
  return missing;
}

}  // namespace sonde::adapt

#include "adapt/torch/callback_lock.h"

#include "adapt/elf/import_table.h"

namespace sonde::adapt {
namespace {

constexpr const char* kLibraries[] = {"libtorch_cpu", nullptr};
constexpr size_t kMaxEntries = 8;

struct Watch {
  bool on = false;
  bool several = false;
  pthread_mutex_t* lock = nullptr;
};
__thread Watch t_watch;

int OnLock(pthread_mutex_t* lock) {
  if (t_watch.on) {
    t_watch.several = t_watch.several || (t_watch.lock != nullptr && t_watch.lock != lock);
    t_watch.lock = lock;
  }
  return pthread_mutex_lock(lock);
}

ObserverContext OnStart(const TorchRange*) { return {}; }
void OnEnd(const TorchRange*, void*) {}

}  // namespace

pthread_mutex_t* FindCallbackLock(const TorchSymbols& torch) {
  ImportEntry entries[kMaxEntries];
  const size_t count = FindImports(kLibraries, "pthread_mutex_lock", entries, kMaxEntries);
  if (count == 0) return nullptr;
  void* originals[kMaxEntries];
  for (size_t i = 0; i < count; i++) {
    originals[i] = *entries[i].slot;
    StoreImport(entries[i], reinterpret_cast<void*>(OnLock));
  }
  ObserverCallback callback = {};  // of no scope
  callback.start = OnStart;
  callback.end = OnEnd;
  callback.sampling_probability = 1.0;
  t_watch = Watch();
  t_watch.on = true;
  torch.remove_callback(torch.add_global_callback(callback));
  t_watch.on = false;
  for (size_t i = 0; i < count; i++) StoreImport(entries[i], originals[i]);
  return t_watch.several ? nullptr : t_watch.lock;
}

}  // namespace sonde::adapt

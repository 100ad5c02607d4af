#include "adapt/torch/memory.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "adapt/elf/import_table.h"
#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

constexpr char kReport[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr char kReporter[] = "_ZN3c1025profiledCPUMemoryReporterEv";
constexpr char kEnabled[] = "_ZN3c1022memoryProfilingEnabledEv";
constexpr const char* kLibraries[] = {"libc10", "libtorch", nullptr};
constexpr size_t kMaxEntries = 32;

// c10::Device: type and index, one byte each, passed in one register.
struct TorchDevice {
  int8_t type;
  int8_t index;
};
using Report = void (*)(void*, int64_t, size_t, size_t, TorchDevice);
using Enabled = bool (*)();
using Reporter = void* (*)();

struct Probe {  // observations of the self-test
  std::atomic<bool> active{false};
  const void* pointer = nullptr;
  int64_t allocated = 0;
  int64_t released = 0;
};

struct Memory {
  bool usable = false;
  bool installed = false;
  Report report = nullptr;
  Enabled enabled = nullptr;
  ImportEntry report_entries[kMaxEntries];
  ImportEntry enabled_entries[kMaxEntries];
  size_t report_count = 0;
  size_t enabled_count = 0;
  pthread_mutex_t* table_lock = nullptr;  // of torch's table of block sizes; nullptr: not found
  std::atomic<bool> off{false};           // in a child that may not touch the table
  Probe probe;
};
// Process-wide by nature: the patched functions get no user pointer.
Memory g_memory;

void Observe(void* pointer, int64_t size) {
  Probe& probe = g_memory.probe;
  if (size == 12345) {
    probe.pointer = pointer;
    probe.allocated = size;
  } else if (size == -12345 && pointer == probe.pointer) {
    probe.released = size;
  }
}

void OnReport(void* pointer, int64_t size, size_t allocated, size_t reserved, TorchDevice device) {
  const uint32_t word = record::SessionWord();
  if (word != 0) {
    sonde_memory_event event = {};
    event.pointer = reinterpret_cast<uint64_t>(pointer);
    event.size_bytes = size;
    event.total_allocated = static_cast<int64_t>(allocated);
    // The CPU allocator has no pool and reports 0.
    event.total_reserved = device.type == 0 ? -1 : static_cast<int64_t>(reserved);
    event.total_active = -1;
    event.device_type = static_cast<uint8_t>(device.type);
    event.device_index = device.index < 0 ? uint8_t{0} : static_cast<uint8_t>(device.index);
    record::EmitMemory(word, event);
  } else if (g_memory.probe.active.load(std::memory_order_relaxed)) {
    Observe(pointer, size);
  }
  g_memory.report(pointer, size, allocated, reserved, device);
}

// While this returns true, the CPU allocator takes a lock of its own for each block.
bool OnEnabled() {
  if (g_memory.off.load(std::memory_order_relaxed)) [[unlikely]] {
    return g_memory.enabled();
  }
  return record::SessionWord() != 0 || g_memory.probe.active.load(std::memory_order_relaxed) ||
         g_memory.enabled();
}

bool Install() {
  bool ok = true;
  for (size_t i = 0; i < g_memory.report_count; i++) {
    ok = StoreImport(g_memory.report_entries[i], reinterpret_cast<void*>(OnReport)) && ok;
  }
  for (size_t i = 0; i < g_memory.enabled_count; i++) {
    ok = StoreImport(g_memory.enabled_entries[i], reinterpret_cast<void*>(OnEnabled)) && ok;
  }
  g_memory.installed = true;
  return ok;
}

void Restore() {
  for (size_t i = 0; i < g_memory.enabled_count; i++) {
    StoreImport(g_memory.enabled_entries[i], reinterpret_cast<void*>(g_memory.enabled));
  }
  for (size_t i = 0; i < g_memory.report_count; i++) {
    StoreImport(g_memory.report_entries[i], reinterpret_cast<void*>(g_memory.report));
  }
  g_memory.installed = false;
}

// torch's lock may be held by another thread when this one forks; the child would wait for ever at
// its first allocation. So the forking thread holds it during the fork, or, where the lock was not
// found, the child does without memory events.
__thread bool t_lock_held = false;  // this thread forks, and holds the lock

void BeforeFork() {
  t_lock_held = g_memory.installed && g_memory.table_lock != nullptr &&
                pthread_mutex_lock(g_memory.table_lock) == 0;
}

void AfterFork() {
  if (t_lock_held) pthread_mutex_unlock(g_memory.table_lock);
}

void AfterForkInChild() {
  if (t_lock_held) {
    pthread_mutex_unlock(g_memory.table_lock);
  } else if (g_memory.installed) {
    g_memory.off.store(true, std::memory_order_relaxed);
  }
}

// Whether the bytes are those of a free lock.
bool LooksFree(const pthread_mutex_t* lock) {
  const pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
  const auto* bytes = reinterpret_cast<const unsigned char*>(lock);
  const auto* expected = reinterpret_cast<const unsigned char*>(&free_lock);
  return std::equal(bytes, bytes + sizeof(free_lock), expected);
}

// The lock is the first member of the allocator's reporter: free now, and then held by us.
pthread_mutex_t* FindTableLock(void* library) {
  const auto reporter = reinterpret_cast<Reporter>(dlsym(library, kReporter));
  if (reporter == nullptr) return nullptr;
  auto* lock = static_cast<pthread_mutex_t*>(reporter());
  if (!LooksFree(lock)) return nullptr;
  if (pthread_mutex_trylock(lock) != 0) return nullptr;
  const bool held = pthread_mutex_trylock(lock) == EBUSY;
  pthread_mutex_unlock(lock);
  return held && LooksFree(lock) ? lock : nullptr;
}

bool FindEntries() {
  void* library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  g_memory.report = reinterpret_cast<Report>(dlsym(library, kReport));
  g_memory.enabled = reinterpret_cast<Enabled>(dlsym(library, kEnabled));
  if (g_memory.report == nullptr || g_memory.enabled == nullptr) return false;
  g_memory.report_count = FindImports(kLibraries, kReport, g_memory.report_entries, kMaxEntries);
  g_memory.enabled_count = FindImports(kLibraries, kEnabled, g_memory.enabled_entries, kMaxEntries);
  return g_memory.report_count > 0 && g_memory.enabled_count > 0;
}

constexpr char kProgram[] = R"py(
import torch
block = torch.empty((12345,), dtype=torch.uint8, device="cpu")
address = block.data_ptr()
del block
)py";

}  // namespace

bool MemoryInit(const PythonApi& python, SelfTestReport* report) {
  if (!FindEntries()) {
    report->Add("memory", false, "reporting functions not found; memory is not recorded");
    return false;
  }
  Probe& probe = g_memory.probe;
  const bool installed = Install();
  probe.active.store(true);
  uint64_t address = 0;
  const bool ran = RunProgram(python, kProgram, nullptr, 0, "address", &address);
  probe.active.store(false);
  Restore();
  g_memory.usable = installed && ran && address != 0 &&
                    reinterpret_cast<uint64_t>(probe.pointer) == address &&
                    probe.allocated == 12345 && probe.released == -12345;
  g_memory.table_lock = FindTableLock(dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD));
  pthread_atfork(BeforeFork, AfterFork, AfterForkInChild);
  char detail[160];
  std::snprintf(detail, sizeof(detail), "%zu and %zu import-table entries", g_memory.report_count,
                g_memory.enabled_count);
  report->Add("memory", g_memory.usable,
              g_memory.usable ? detail : "a test block was not reported; memory is not recorded");
  if (g_memory.usable) {
    const bool lock = g_memory.table_lock != nullptr;
    report->Add("memory of forked processes", lock,
                lock ? "" : "the allocator's lock was not found; they do not record memory");
  }
  return g_memory.usable;
}

void MemoryStart() {
  if (!g_memory.usable) return;
  FindEntries();  // libraries may have been loaded since
  Install();
}

void MemoryStop() {
  if (g_memory.installed) Restore();
}

}  // namespace sonde::adapt

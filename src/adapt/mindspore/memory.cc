#include "adapt/mindspore/memory.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "adapt/elf/import_table.h"
#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

enum Function : uint32_t { kAllocate, kRelease, kAllocateThunk, kReleaseThunk, kFunctionCount };
constexpr const char* kSymbols[kFunctionCount] = {
    "_ZN9mindspore6device21DynamicMemPoolBestFit14AllocTensorMemEmbbj",
    "_ZN9mindspore6device21DynamicMemPoolBestFit13FreeTensorMemERKPv",
    "_ZTv0_n48_N9mindspore6device21DynamicMemPoolBestFit14AllocTensorMemEmbbj",
    "_ZTv0_n64_N9mindspore6device21DynamicMemPoolBestFit13FreeTensorMemERKPv",
};
constexpr char kUsed[] = "_ZNK9mindspore6device21DynamicMemPoolBestFit22TotalUsedMemStatisticsEv";
constexpr char kTotal[] = "_ZNK9mindspore6device21DynamicMemPoolBestFit18TotalMemStatisticsEv";
// The pool of the CPU: devices have others, which their tracers record.
constexpr const char* kLibraries[] = {"libmindspore_cpu", nullptr};
// Where each thunk finds the distance to the whole object, before the table of virtual functions.
constexpr ptrdiff_t kAllocateDistance = -48;
constexpr ptrdiff_t kReleaseDistance = -64;
constexpr size_t kMaxEntries = 32;
constexpr size_t kBlockBytes = 512;  // sizes of blocks are multiples of it

using Allocate = void* (*)(void*, size_t, bool, bool, uint32_t);
using Release = void (*)(void*, void* const*);
using Statistics = size_t (*)(const void*);

struct Pool {
  Allocate allocate = nullptr;
  Release release = nullptr;
  Statistics used = nullptr;
  Statistics total = nullptr;
  void* ours[kFunctionCount] = {};
  std::mutex mutex;  // of the table; never held while the pool's mutex is taken
  std::unordered_map<const void*, size_t> sizes;
};

// Process-wide by nature: the replaced functions get no user pointer. Never destroyed: blocks are
// released after static objects are gone.
Pool& State() {
  static Pool* pool = new Pool();
  return *pool;
}

void Emit(void* self, const void* block, int64_t bytes) {
  const uint32_t word = record::SessionWord();
  if ((word & SONDE_FEATURE_MEMORY) == 0) return;
  const Pool& pool = State();
  sonde_memory_event event = {};
  event.pointer = reinterpret_cast<uint64_t>(block);
  event.size_bytes = bytes;
  event.total_allocated = static_cast<int64_t>(pool.used(self));
  event.total_reserved = static_cast<int64_t>(pool.total(self));
  event.total_active = event.total_allocated;
  record::EmitMemory(word, event);
}

void* OnAllocate(void* self, size_t size, bool persistent, bool recycle, uint32_t stream) {
  Pool& pool = State();
  void* block = pool.allocate(self, size, persistent, recycle, stream);
  if (block == nullptr) return block;
  const size_t bytes =
      size == 0 ? kBlockBytes : (size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  {
    const std::lock_guard lock(pool.mutex);
    pool.sizes[block] = bytes;
  }
  Emit(self, block, static_cast<int64_t>(bytes));
  return block;
}

void OnRelease(void* self, void* const* address) {
  Pool& pool = State();
  const void* block = *address;
  size_t bytes = 0;
  {
    const std::lock_guard lock(pool.mutex);
    const auto found = pool.sizes.find(block);
    if (found != pool.sizes.end()) {
      bytes = found->second;
      pool.sizes.erase(found);
    }
  }
  pool.release(self, address);
  if (bytes > 0) Emit(self, block, -static_cast<int64_t>(bytes));
}

void* WholeObject(void* part, ptrdiff_t distance_at) {
  const char* table = nullptr;
  std::memcpy(static_cast<void*>(&table), part, sizeof(table));
  ptrdiff_t distance = 0;
  std::memcpy(&distance, table + distance_at, sizeof(distance));
  return static_cast<char*>(part) + distance;
}

void* OnAllocateThunk(void* part, size_t size, bool persistent, bool recycle, uint32_t stream) {
  return OnAllocate(WholeObject(part, kAllocateDistance), size, persistent, recycle, stream);
}

void OnReleaseThunk(void* part, void* const* address) {
  OnRelease(WholeObject(part, kReleaseDistance), address);
}

const char* FindOriginals(Pool& pool) {
  void* library = dlopen("libmindspore_memory_pool.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "libmindspore_memory_pool.so";
  *reinterpret_cast<void**>(&pool.allocate) = dlsym(library, kSymbols[kAllocate]);
  *reinterpret_cast<void**>(&pool.release) = dlsym(library, kSymbols[kRelease]);
  *reinterpret_cast<void**>(&pool.used) = dlsym(library, kUsed);
  *reinterpret_cast<void**>(&pool.total) = dlsym(library, kTotal);
  if (pool.allocate == nullptr) return kSymbols[kAllocate];
  if (pool.release == nullptr) return kSymbols[kRelease];
  if (pool.used == nullptr) return kUsed;
  return pool.total == nullptr ? kTotal : nullptr;
}

size_t Replace(const Pool& pool) {
  ImportEntry entries[kMaxEntries];
  const size_t count =
      FindImports({kLibraries, nullptr, kSymbols, kFunctionCount, true}, entries, kMaxEntries);
  size_t replaced = 0;
  for (size_t i = 0; i < count; i++) {
    void* ours = pool.ours[entries[i].symbol];
    if (*entries[i].slot == ours || StoreImport(entries[i], ours)) replaced++;
  }
  return replaced;
}

}  // namespace

bool PoolMemoryInit(SelfTestReport* report) {
  Pool& pool = State();
  const char* missing = FindOriginals(pool);
  if (missing != nullptr) {
    report->Add("memory", false, missing);
    return false;
  }
  pool.ours[kAllocate] = reinterpret_cast<void*>(OnAllocate);
  pool.ours[kRelease] = reinterpret_cast<void*>(OnRelease);
  pool.ours[kAllocateThunk] = reinterpret_cast<void*>(OnAllocateThunk);
  pool.ours[kReleaseThunk] = reinterpret_cast<void*>(OnReleaseThunk);
  const size_t replaced = Replace(pool);
  char detail[160];
  std::snprintf(detail, sizeof(detail), "%zu entries in tables of virtual functions", replaced);
  report->Add("memory", replaced > 0, replaced > 0 ? detail : "the pool of the CPU was not found");
  return replaced > 0;
}

void PoolMemoryFollow() { Replace(State()); }

void PoolMemoryBeforeFork() { State().mutex.lock(); }

void PoolMemoryAfterFork() { State().mutex.unlock(); }

}  // namespace sonde::adapt

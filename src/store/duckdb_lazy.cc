#include "store/duckdb_lazy.h"

#ifdef SONDE_DUCKDB_LAZY

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/strings.h"

namespace sonde::store {
namespace {

constexpr std::array kNames = {
#define FUNCTION(name) #name,
#include "duckdb_functions.inc"
#undef FUNCTION
};

// An allocator in front of the C library's (LD_PRELOAD of tcmalloc or jemalloc, as manuals of
// servers recommend; the sanitizers) must be used by the library, too. Memory that libc allocates
// for it, as strdup does, comes from that allocator, and the library frees it.
bool IsMallocReplaced() {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == nullptr) return true;  // another C library: nothing is known of it
  const bool is_replaced = dlsym(RTLD_DEFAULT, "malloc") != dlsym(libc, "malloc");
  dlclose(libc);
  return is_replaced;
}

// Its 40 000 references to itself are looked up in itself first, not in all of this program's
// libraries before: 6 of 16 ms.
int OwnFirst() { return IsMallocReplaced() ? 0 : RTLD_DEEPBIND; }

struct Library {
  void* handle;
  std::string error;
};

const Library& OpenLibrary() {
  static const Library library = [] {
    // Found by the run path of this program: in its folder or in ../lib.
    void* handle = dlopen("libduckdb.so", RTLD_LAZY | RTLD_LOCAL | OwnFirst());
    const char* reason = handle == nullptr ? dlerror() : "";
    return Library{handle, reason};
  }();
  return library;
}

}  // namespace

Status LoadDuckDb() {
  const Library& library = OpenLibrary();
  if (library.handle != nullptr) return Status::Ok();
  return UnavailableError(base::Concat("cannot open DuckDB's library: ", library.error,
                                       " (install Sonde again, or set LD_LIBRARY_PATH)"));
}

}  // namespace sonde::store

extern "C" {

// In duckdb_lazy.S: where each function's jump leads.
extern std::atomic<void*> sonde_duckdb_slots[];  // NOLINT(readability-identifier-naming)

// Called by duckdb_lazy.S at the first call of function `index`; two threads may do so at once.
void* sonde_duckdb_resolve(uint64_t index) {
  const auto& library = sonde::store::OpenLibrary();
  CHECK(library.handle != nullptr, library.error);
  CHECK(index < sonde::store::kNames.size());
  void* function = dlsym(library.handle, sonde::store::kNames.at(index));
  CHECK(function != nullptr, sonde::store::kNames.at(index));
  sonde_duckdb_slots[index].store(function, std::memory_order_relaxed);
  return function;
}
}

#else

namespace sonde::store {
Status LoadDuckDb() { return Status::Ok(); }
}  // namespace sonde::store

#endif

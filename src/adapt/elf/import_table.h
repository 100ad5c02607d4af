// Import-table entries of loaded libraries: finding, replacing, restoring.
//
// Works on ELF shared objects with RELA relocations (x86-64, aarch64). Entries are in pages that
// the loader may have made read-only; they are made writable for the store and then protected
// again. A store is one aligned word, so that threads that call through the entry see the old or
// the new address. Threads: one caller at a time.
#ifndef SONDE_ADAPT_ELF_IMPORT_TABLE_H_
#define SONDE_ADAPT_ELF_IMPORT_TABLE_H_

#include <cstddef>
#include <cstdint>

namespace sonde::adapt {

struct ImportEntry {
  void** slot;
  bool read_only;       // in the part that the loader protects after relocation
  uint32_t symbol = 0;  // index among the wanted ones
};

// Entries through which libraries whose file name begins with one of `prefixes` (nullptr-ended)
// call `symbol`. Returns their number, at most `capacity`.
size_t FindImports(const char* const* prefixes, const char* symbol, ImportEntry* entries,
                   size_t capacity);

// The same for several symbols in one walk. `tables`: also where a library keeps the address in
// data of its own, as the tables of virtual functions do. `except`: no libraries whose name begins
// so; nullptr: none.
struct ImportQuery {
  const char* const* prefixes;
  const char* except;
  const char* const* symbols;
  size_t symbol_count;  // below 64
  bool tables;
};
size_t FindImports(const ImportQuery& query, ImportEntry* entries, size_t capacity);

// False: the page could not be made writable; nothing is changed then.
bool StoreImport(const ImportEntry& entry, void* function);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_ELF_IMPORT_TABLE_H_

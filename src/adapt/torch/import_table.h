// Import-table entries of loaded libraries: finding, replacing, restoring.
//
// Works on ELF shared objects with RELA relocations (x86-64, aarch64). Entries lie in pages that
// the loader may have made read-only; they are made writable for the store and then protected
// again. A store is one aligned word, so that threads calling through the entry see old or new.
// Threads: one caller at a time.
#ifndef SONDE_ADAPT_TORCH_IMPORT_TABLE_H_
#define SONDE_ADAPT_TORCH_IMPORT_TABLE_H_

#include <cstddef>
#include <cstdint>

namespace sonde::adapt {

struct ImportEntry {
  void** slot;
  bool read_only;  // in the part that the loader protects after relocation
};

// Entries through which libraries whose file name begins with one of `prefixes` (nullptr-ended)
// call `symbol`. Returns their number, at most `capacity`.
size_t FindImports(const char* const* prefixes, const char* symbol, ImportEntry* entries,
                   size_t capacity);

// False: the page could not be made writable; nothing is changed then.
bool StoreImport(const ImportEntry& entry, void* function);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_IMPORT_TABLE_H_

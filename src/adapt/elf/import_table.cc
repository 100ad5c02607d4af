#include "adapt/elf/import_table.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace sonde::adapt {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kGlobalData = R_X86_64_GLOB_DAT;
constexpr uint32_t kWord = R_X86_64_64;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kGlobalData = R_AARCH64_GLOB_DAT;
constexpr uint32_t kWord = R_AARCH64_ABS64;
#else
#error "import tables of this processor are not known"
#endif

struct Search {
  const ImportQuery* query;
  ImportEntry* entries;
  size_t capacity;
  size_t count;
};

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * relocations[2] = {nullptr, nullptr};  // of calls, of data
  size_t bytes[2] = {0, 0};
};

Tables ReadDynamic(const ElfW(Dyn) * dynamic) {
  Tables tables;
  for (; dynamic->d_tag != DT_NULL; dynamic++) {
    const auto pointer = dynamic->d_un.d_ptr;  // absolute: the loader has relocated them
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(pointer);
        break;
      case DT_JMPREL:
        tables.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_PLTRELSZ:
        tables.bytes[0] = dynamic->d_un.d_val;
        break;
      case DT_RELA:
        tables.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_RELASZ:
        tables.bytes[1] = dynamic->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return tables;
}

bool BeginsWith(const char* text, const char* begin) {
  return std::strncmp(text, begin, std::strlen(begin)) == 0;
}

bool IsWanted(const char* path, const ImportQuery& query) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  if (query.except != nullptr && BeginsWith(name, query.except)) return false;
  for (const char* const* prefix = query.prefixes; *prefix != nullptr; prefix++) {
    if (BeginsWith(name, *prefix)) return true;
  }
  return false;
}

// Finds a library's symbol among the wanted ones; caches the last answers, since a large library
// has hundreds of thousands of relocations and often uses one symbol many times in a row.
class SymbolNumbers {
 public:
  SymbolNumbers(const Tables& tables, const ImportQuery& query) : tables_(tables), query_(query) {}

  int Find(uint32_t index) {
    Known& known = known_[index % kKnown];
    if (known.number == kUnknown || known.index != index) known = {index, Compare(index)};
    return known.number;
  }

 private:
  static constexpr size_t kKnown = 1024;
  static constexpr int kUnknown = -2;
  struct Known {
    uint32_t index = 0;
    int number = kUnknown;  // -1: none of them
  };

  int Compare(uint32_t index) const {
    const char* name = tables_.names + tables_.symbols[index].st_name;
    for (size_t i = 0; i < query_.symbol_count; i++) {
      if (std::strcmp(name, query_.symbols[i]) == 0) return static_cast<int>(i);
    }
    return -1;
  }

  const Tables& tables_;
  const ImportQuery& query_;
  Known known_[kKnown];
};

bool InReadOnlyPart(const dl_phdr_info* info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (address >= begin && address < begin + header.p_memsz) return true;
  }
  return false;
}

int Visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (info->dlpi_name == nullptr || !IsWanted(info->dlpi_name, *search->query)) return 0;
  Tables tables;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    tables = ReadDynamic(
        reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
  }
  if (tables.symbols == nullptr || tables.names == nullptr) return 0;
  SymbolNumbers numbers(tables, *search->query);
  for (int t = 0; t < 2; t++) {
    const size_t count = tables.bytes[t] / sizeof(ElfW(Rela));
    for (size_t r = 0; r < count && search->count < search->capacity; r++) {
      const ElfW(Rela)& relocation = tables.relocations[t][r];
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
      const bool is_table = type == kWord && search->query->tables && relocation.r_addend == 0;
      if (type != kJumpSlot && type != kGlobalData && !is_table) continue;
      const int number = numbers.Find(static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info)));
      if (number < 0) continue;
      const uintptr_t slot = info->dlpi_addr + relocation.r_offset;
      search->entries[search->count++] = {reinterpret_cast<void**>(slot),
                                          InReadOnlyPart(info, slot),
                                          static_cast<uint32_t>(number)};
    }
  }
  return 0;
}

}  // namespace

size_t FindImports(const char* const* prefixes, const char* symbol, ImportEntry* entries,
                   size_t capacity) {
  return FindImports({prefixes, nullptr, &symbol, 1, false}, entries, capacity);
}

size_t FindImports(const ImportQuery& query, ImportEntry* entries, size_t capacity) {
  Search search = {&query, entries, capacity, 0};
  dl_iterate_phdr(Visit, &search);
  return search.count;
}

bool StoreImport(const ImportEntry& entry, void* function) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(entry.slot) & ~(page_bytes - 1));
  if (entry.read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(entry.slot, function, __ATOMIC_RELEASE);
  if (entry.read_only) mprotect(page, page_bytes, PROT_READ);
  return true;
}

}  // namespace sonde::adapt

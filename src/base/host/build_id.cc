#include "base/host/build_id.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cstddef>
#include <string_view>

#include "base/hash.h"

namespace sonde::base {
namespace {

constexpr size_t Padded(size_t size) { return (size + 3) & ~size_t{3}; }

// The bytes of the build id among the notes; empty: it is not there.
std::string_view IdAmong(std::string_view notes) {
  constexpr std::string_view kOwner("GNU\0", 4);
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes.data());
    const size_t owner_size = Padded(note->n_namesz);
    const size_t size = sizeof(*note) + owner_size + Padded(note->n_descsz);
    if (size > notes.size()) return {};
    const std::string_view owner = notes.substr(sizeof(*note), note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && owner == kOwner) {
      return notes.substr(sizeof(*note) + owner_size, note->n_descsz);
    }
    notes.remove_prefix(size);
  }
  return {};
}

// The first object is the program; a result other than 0 ends the visit.
int TakeId(dl_phdr_info* program, size_t /*size*/, void* found) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = program->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const uintptr_t begin = program->dlpi_addr + part.p_vaddr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    const std::string_view id = IdAmong({reinterpret_cast<const char*>(begin), part.p_memsz});
    if (!id.empty()) *static_cast<uint64_t*>(found) = HashString(id);
  }
  return 1;
}

uint64_t IdOfFile() {
  struct stat info{};
  if (::stat("/proc/self/exe", &info) != 0) return 0;
  uint64_t id = static_cast<uint64_t>(info.st_size);
  id = HashCombine(id, static_cast<uint64_t>(info.st_mtim.tv_sec));
  return HashCombine(id, static_cast<uint64_t>(info.st_mtim.tv_nsec));
}

}  // namespace

uint64_t BuildId() {
  uint64_t id = 0;
  dl_iterate_phdr(&TakeId, &id);
  return id != 0 ? id : IdOfFile();
}

}  // namespace sonde::base

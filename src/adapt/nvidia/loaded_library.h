// Functions of a library that the process has loaded, in any version and opened by any package:
// names of such libraries end in a version, and packages open them with local visibility.
#ifndef SONDE_ADAPT_NVIDIA_LOADED_LIBRARY_H_
#define SONDE_ADAPT_NVIDIA_LOADED_LIBRARY_H_

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>

namespace sonde::adapt::nvidia {

class LoadedLibrary {
 public:
  // `name` without a version: "libcupti.so" finds libcupti.so.13 and libcupti.so.2025.3.0.
  explicit LoadedLibrary(const char* name) {
    Search search = {name, {}};
    dl_iterate_phdr(&Take, &search);
    if (!search.path.empty()) handle_ = dlopen(search.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  }
  bool is_there() const { return handle_ != nullptr; }

  template <class Function>
  bool Find(const char* name, Function* function) const {
    void* const symbol = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    *function = reinterpret_cast<Function>(symbol);
    return symbol != nullptr;
  }

 private:
  struct Search {
    const char* name;
    std::string path;
  };
  static int Take(dl_phdr_info* info, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    const char* slash = std::strrchr(info->dlpi_name, '/');
    const char* base = slash == nullptr ? info->dlpi_name : slash + 1;
    if (std::strncmp(base, search.name, std::strlen(search.name)) != 0) return 0;
    search.path = info->dlpi_name;
    return 1;
  }

  void* handle_ = nullptr;  // kept: the library is never unloaded while we hold it
};

}  // namespace sonde::adapt::nvidia

#endif  // SONDE_ADAPT_NVIDIA_LOADED_LIBRARY_H_

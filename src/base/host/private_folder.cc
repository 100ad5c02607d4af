#include "base/host/private_folder.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/files.h"
#include "base/host/temporary.h"
#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::base {

Result<std::unique_ptr<PrivateFolder>> PrivateFolder::Make(std::string_view purpose) {
  constexpr mode_t kOnlyForTheUser = 0700;
  const std::string root = AbsolutePath(TemporaryRoot());
  static std::once_flag looked;  // a program that opens a thousand stores looks once
  std::call_once(looked, [&] { RemoveLeftovers(root); });
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) {
    return InternalError("the system gave no random numbers for the name of a folder");
  }
  std::string path =
      TemporaryNextTo(JoinPath(root, Concat("sonde-", purpose, ".", std::to_string(number))));
  // Fails where anything of that name is there, a link included.
  if (::mkdir(path.c_str(), kOnlyForTheUser) != 0) return ErrnoStatus(errno, "make", path);
  return std::make_unique<PrivateFolder>(std::move(path));
}

PrivateFolder::~PrivateFolder() {
  RemoveTree(path_).IgnoreError();  // the next program tries again
}

}  // namespace sonde::base

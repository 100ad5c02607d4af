#include "importers/cache.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::importers {
namespace {

constexpr int64_t kKeepSeconds = 3600;
constexpr int64_t kUnfinishedSeconds = 86400;
constexpr std::array<std::string_view, 2> kEnds = {".duckdb", ".zoom"};  // of stores and indexes
constexpr std::string_view kUnfinished = ".partial";

std::string AbsoluteVariable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value == '/' ? value : "";
}

std::string HomeFolder() {
  std::string home = AbsoluteVariable("HOME");
  if (!home.empty()) return home;
  const passwd* user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe)
  return user != nullptr && user->pw_dir != nullptr && *user->pw_dir == '/' ? user->pw_dir : "";
}

// A store with its index.
struct CachedStore {
  std::vector<std::string> paths;
  uint64_t bytes = 0;
  int64_t used_s = 0;  // when last
};

void Remove(const CachedStore& store) {
  for (const std::string& path : store.paths) ::unlink(path.c_str());
}

}  // namespace

Result<std::string> CacheFolder() {
  const std::string cache = AbsoluteVariable("XDG_CACHE_HOME");
  if (!cache.empty()) return base::JoinPath(cache, "sonde/stores");
  const std::string home = HomeFolder();
  if (!home.empty()) return base::JoinPath(home, ".cache/sonde/stores");
  return base::FailedPreconditionError(
      "no folder for the trace store: set HOME or XDG_CACHE_HOME to an absolute path");
}

Status CheckCacheFolder(const std::string& folder) {
  for (const std::string& path : {std::string(base::DirName(folder)), folder}) {
    struct stat named{};  // perhaps a link of the user's to another disk
    struct stat info{};
    if (::lstat(path.c_str(), &named) != 0 || ::stat(path.c_str(), &info) != 0) continue;
    const bool is_own = named.st_uid == ::geteuid() && info.st_uid == ::geteuid();
    if (is_own && (info.st_mode & S_IWOTH) == 0) continue;
    return base::PermissionDeniedError(base::Concat(
        "the cache folder '", path,
        "' is not used: it must be a folder of this user that others may not write (chmod o-w it, "
        "or set XDG_CACHE_HOME to another one)"));
  }
  return {};
}

bool IsOwnFile(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

uint64_t CacheLimit() {
  const char* text = std::getenv("SONDE_CACHE_BYTES");  // NOLINT(concurrency-mt-unsafe)
  const auto limit = text == nullptr ? std::nullopt : base::ParseInt64(text);
  return limit && *limit >= 0 ? static_cast<uint64_t>(*limit) : kDefaultCacheBytes;
}

// The time of access: that of change is compared with those of the files next to the store.
void TouchStore(const std::string& path) {
  const std::array<timespec, 2> times = {timespec{0, UTIME_NOW}, timespec{0, UTIME_OMIT}};
  ::utimensat(AT_FDCWD, path.c_str(), times.data(), 0);
}

void PruneCache(const std::string& folder, uint64_t limit, int64_t now_s) {
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return;
  std::map<std::string, CachedStore> stores;
  for (const base::DirectoryEntry& entry : *entries) {
    const size_t end = std::min(entry.name.find(kEnds[0]), entry.name.find(kEnds[1]));
    struct stat info{};
    const std::string path = base::JoinPath(folder, entry.name);
    if (end == std::string::npos || ::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
      continue;
    }
    const bool is_unfinished = entry.name.find(kUnfinished, end) != std::string::npos;
    if (is_unfinished && now_s - info.st_mtim.tv_sec < kUnfinishedSeconds) continue;
    CachedStore& store = stores[is_unfinished ? entry.name : entry.name.substr(0, end)];
    store.paths.push_back(path);
    store.bytes += static_cast<uint64_t>(info.st_blocks) * 512;
    const int64_t used_s = std::max<int64_t>(info.st_mtim.tv_sec, info.st_atim.tv_sec);
    store.used_s = is_unfinished ? 0 : std::max(store.used_s, used_s);
  }
  uint64_t total = 0;
  std::vector<const CachedStore*> oldest;
  for (const auto& [name, store] : stores) {
    total += store.bytes;
    oldest.push_back(&store);
  }
  std::stable_sort(oldest.begin(), oldest.end(), [](const CachedStore* a, const CachedStore* b) {
    return a->used_s < b->used_s;
  });
  for (const CachedStore* store : oldest) {
    const bool is_unfinished = store->used_s == 0;
    if (!is_unfinished && (total <= limit || now_s - store->used_s < kKeepSeconds)) return;
    Remove(*store);
    total -= store->bytes;
  }
}

}  // namespace sonde::importers

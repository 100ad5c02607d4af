#include "base/temporaries.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"

namespace sonde::base {
namespace {

constexpr std::string_view kEnd = ".partial";
constexpr int64_t kForeignSeconds = 86400;

std::string Hex(uint64_t value) {
  std::array<char, 17> text = {};
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(value));
  return text.data();
}

// Identifies the boot and the PID namespace, within which process numbers are unique.
std::string Machine() {
  const auto boot = ReadFile("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> space = {};
  const ssize_t size = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  const std::string_view numbers(space.data(), size > 0 ? static_cast<size_t>(size) : 0);
  return Hex(HashString(numbers, HashString(boot.value_or(""))) >> 32U);
}

// When a process began, in ticks since boot; empty where there is none (any more).
std::string BeginOf(const std::string& pid) {
  constexpr size_t kBegin = 19;  // of the fields behind the name, which may hold anything
  const auto stat = ReadFile(Concat("/proc/", pid, "/stat"));
  if (!stat.ok()) return {};
  const size_t name_end = stat->rfind(") ");
  if (name_end == std::string::npos) return {};
  const auto fields = Split(std::string_view(*stat).substr(name_end + 2), ' ');
  return fields.size() > kBegin ? std::string(fields[kBegin]) : std::string();
}

struct Maker {
  std::string machine;
  std::string pid;
  std::string begin;
};

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Of ".NAME.MACHINE-PID-BEGIN-N.partial", or of the files that a database adds to that name.
std::optional<Maker> MakerOf(std::string_view name) {
  const size_t end = name.rfind(kEnd);
  if (!name.starts_with('.') || end == std::string_view::npos) return {};
  const std::string_view rest = name.substr(end + kEnd.size());
  if (!rest.empty() && rest != ".wal") return {};
  name = name.substr(0, end);
  const auto parts = Split(name.substr(name.rfind('.') + 1), '-');
  if (parts.size() != 4 || !IsNumber(parts[1]) || !IsNumber(parts[3])) return {};
  return Maker{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

bool IsOver(const Maker& maker, const std::string& machine, const struct stat& info) {
  if (maker.machine == machine) return BeginOf(maker.pid) != maker.begin;
  return ::time(nullptr) - info.st_mtim.tv_sec > kForeignSeconds;
}

// A signal handler reads them at any moment, so they have no lock, and stay for good.
struct NotedFolder {
  std::string path;
  NotedFolder* next = nullptr;
};
constexpr size_t kFolderLists = 1024;  // by hash: a lake has a folder for each table and rank
std::array<std::atomic<NotedFolder*>, kFolderLists> g_folders = {};

void NoteFolder(const std::string& folder) {
  std::atomic<NotedFolder*>& list = g_folders[HashString(folder) % kFolderLists];
  NotedFolder* first = list.load();
  for (const NotedFolder* known = first; known != nullptr; known = known->next) {
    if (known->path == folder) return;
  }
  auto* const made = new NotedFolder{folder, first};
  // Two threads may note the same one, which does no harm.
  while (!list.compare_exchange_weak(made->next, made)) {
  }
}

bool WriteAll(int descriptor, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Calls `is_wanted` for what TemporaryNextTo named in `folder` and this user owns; removes those.
template <class IsWanted>
void RemoveTemporaries(const std::string& folder, const IsWanted& is_wanted) {
  const auto entries = ListDirectory(folder);
  if (!entries.ok()) return;  // the caller's own access fails, too
  std::string machine;
  for (const DirectoryEntry& entry : *entries) {
    const auto maker = MakerOf(entry.name);
    if (!maker) continue;
    if (machine.empty()) machine = Machine();
    const std::string path = JoinPath(folder, entry.name);
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (is_wanted(*maker, machine, info))
      RemoveTree(path).IgnoreError();  // the next one tries again
  }
}

}  // namespace

size_t WriteTemporaryFolders(int descriptor) {
  size_t count = 0;
  for (const auto& list : g_folders) {
    for (const NotedFolder* folder = list.load(); folder != nullptr; folder = folder->next) {
      // With the NUL behind it.
      if (!WriteAll(descriptor, folder->path.c_str(), folder->path.size() + 1)) return 0;
      ++count;
    }
  }
  return count;
}

std::string TemporaryNextTo(std::string_view path) {
  NoteFolder(AbsolutePath(std::string(DirName(path))));
  static std::atomic<uint64_t> count = 0;
  static const std::string machine = Machine();
  const std::string pid = std::to_string(::getpid());
  return Concat(DirName(path), "/.", BaseName(path), ".", machine, "-", pid, "-", BeginOf(pid), "-",
                std::to_string(count.fetch_add(1)), kEnd);
}

Result<int> CreateNewFile(const std::string& path, mode_t mode) {
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (descriptor < 0) return ErrnoStatus(errno, "create", path);
  return descriptor;
}

Result<int> RecreateFile(const std::string& path, mode_t mode) {
  constexpr int kAttempts = 16;  // where other processes make the same file
  for (int attempt = 1;; attempt++) {
    Result<int> created = CreateNewFile(path, mode);
    if (created.status().code() != StatusCode::kAlreadyExists || attempt == kAttempts) {
      return created;
    }
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) continue;  // another process was faster
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) return created;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return created;
  }
}

void RemoveLeftovers(const std::string& folder) { RemoveTemporaries(folder, IsOver); }

void RemoveOwnTemporaries(const std::string& folder) {
  const std::string pid = std::to_string(::getpid());
  const std::string begin = BeginOf(pid);
  RemoveTemporaries(folder, [&](const Maker& maker, const std::string& machine, const auto&) {
    return maker.machine == machine && maker.pid == pid && maker.begin == begin;
  });
}

}  // namespace sonde::base

#include "cluster/machines/rendezvous.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "cluster/frame/serial.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kHead = "head";  // pulse of process 0
constexpr std::string_view kHeadUnnamed = "head.new";
constexpr std::chrono::milliseconds kBetweenCounts{250};
constexpr std::chrono::seconds kSilentAndFree{5};
constexpr std::chrono::seconds kSilent{120};

uint64_t NewToken() {
  std::random_device random;
  return (uint64_t{random()} << 32U) | random();
}

struct flock WholeFile(int16_t type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Whether somebody holds the lock of that file; none where that is unknown.
std::optional<bool> IsLocked(int descriptor) {
  struct flock lock = WholeFile(F_WRLCK);
  if (::fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type != F_UNLCK;
}

// "head", "head.new", "<token>.<kind>.<numbers>": of this run or one before.
bool IsOfRendezvous(std::string_view name) {
  if (name == kHead || name == kHeadUnnamed) return true;
  const size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  constexpr std::array<std::string_view, 4> kKinds = {".ask.", ".answer.", ".hello.", ".pulse."};
  return std::ranges::any_of(
      kKinds, [&](std::string_view kind) { return name.substr(digits).starts_with(kind); });
}

// With a sum behind it: what is read half would be taken for numbers.
std::string Sealed(std::string_view message) {
  std::string sealed(message);
  serial::Put(base::HashString(message), sealed);
  return sealed;
}

Result<std::string> Opened(std::string sealed, const std::string& path) {
  uint64_t sum = 0;
  if (sealed.size() >= sizeof(sum)) {
    std::string_view end = std::string_view(sealed).substr(sealed.size() - sizeof(sum));
    serial::Take(end, sum);
    sealed.resize(sealed.size() - sizeof(sum));
    if (base::HashString(sealed) == sum) return sealed;
  }
  return base::CorruptDataError(Concat("'", path, "' is not a message of a process"));
}

}  // namespace

void Patience::Wait() {
  constexpr std::chrono::milliseconds kLongest{100};
  std::this_thread::sleep_for(next_);
  next_ = std::min(kLongest, next_ + next_ / 2);
}

Rendezvous::Rendezvous(std::string folder, uint64_t token, int32_t number)
    : folder_(std::move(folder)), token_(token), number_(number) {}

Rendezvous::~Rendezvous() {
  if (counter_.joinable()) {
    {
      const std::scoped_lock lock(mutex_);
      is_ending_ = true;
    }
    ends_.notify_all();
    counter_.join();
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string Rendezvous::PulseFile(int32_t number) const {
  if (number == 0) return base::JoinPath(folder_, kHead);
  return PathOf(Concat("pulse.", std::to_string(number)));
}

std::string Rendezvous::PathOf(std::string_view name) const {
  return base::JoinPath(folder_, Concat(std::to_string(token_), ".", name));
}

// The file is locked and filled before it has its name: who sees it sees both.
Status Rendezvous::BeginToCount() {
  const std::string path = PulseFile(number_);
  const std::string hidden = path + ".new";
  ::unlink(hidden.c_str());  // of one that was killed here; a link that somebody planted goes, too
  constexpr int kNewFile = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  descriptor_ = ::open(hidden.c_str(), kNewFile, 0666);
  if (descriptor_ < 0) return base::ErrnoStatus(errno, "write", hidden);
  struct flock lock = WholeFile(F_WRLCK);
  // Without locks only the count decides.
  [[maybe_unused]] const int locked = ::fcntl(descriptor_, F_OFD_SETLK, &lock);
  const Beat beat{token_, 0};
  if (::pwrite(descriptor_, &beat, sizeof(beat), 0) != sizeof(beat) ||
      ::rename(hidden.c_str(), path.c_str()) != 0) {
    return base::ErrnoStatus(errno, "write", path);
  }
  counter_ = std::thread([this] { Count(); });
  return {};
}

void Rendezvous::Count() {
  std::unique_lock lock(mutex_);
  for (Beat beat{token_, 1}; !is_ending_; ++beat.count) {
    // A count that cannot be written shows as one that stands still.
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, &beat, sizeof(beat), 0);
    ends_.wait_for(lock, kBetweenCounts, [this] { return is_ending_; });
  }
}

Rendezvous::Seen Rendezvous::Look(int32_t number) const {
  base::ListDirectory(folder_).status().IgnoreError();  // so that no cache hides what is new
  Seen seen;
  const int descriptor = ::open(PulseFile(number).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return seen;
  seen.is_locked = IsLocked(descriptor);
  seen.is_there = ::pread(descriptor, &seen.beat, sizeof(seen.beat), 0) == sizeof(seen.beat);
  ::close(descriptor);
  return seen;
}

std::optional<Rendezvous::Beat> Rendezvous::LookForHead() const {
  constexpr int kCounts = 8;
  const Seen first = Look(0);
  if (!first.is_there || first.is_locked == false) return std::nullopt;
  if (first.is_locked) return first.beat;
  for (int i = 0; i < kCounts; ++i) {  // without locks the count decides
    std::this_thread::sleep_for(kBetweenCounts);
    const Seen next = Look(0);
    if (next.is_there && next.beat.token == first.beat.token &&
        next.beat.count != first.beat.count) {
      return next.beat;
    }
  }
  return std::nullopt;
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::Open(const std::string& folder) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(folder, NewToken(), 0));
  if (rendezvous->LookForHead()) {
    return base::FailedPreconditionError(
        Concat("another run of several processes uses '", folder,
               "': wait for its end, or name another folder with --meet"));
  }
  SONDE_RETURN_IF_ERROR(rendezvous->RemoveMessages());
  SONDE_RETURN_IF_ERROR(rendezvous->BeginToCount());
  return rendezvous;
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::Join(const std::string& folder, const Place& place,
                                                     std::chrono::seconds patience) {
  const auto end = Clock::now() + patience;
  const Rendezvous watch(folder, 0, place.number);
  for (Patience wait;; wait.Wait()) {
    const std::optional<Beat> head = watch.LookForHead();
    if (!head && Clock::now() < end) continue;
    if (!head) break;
    std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(folder, head->token, place.number));
    SONDE_RETURN_IF_ERROR(rendezvous->BeginToCount());
    return rendezvous;
  }
  return base::UnavailableError(
      Concat("process 0 of ", std::to_string(place.count), " did not appear in '", folder,
             "' within ", std::to_string(patience.count()),
             " s: all processes need the same folder of results, or --meet DIR that all see"));
}

Status Rendezvous::Leave(std::string_view name, std::string_view message) {
  return base::WriteFileAtomically(PathOf(name), Sealed(message));
}

Result<std::optional<std::string>> Rendezvous::Take(const std::string& name) const {
  const std::string path = PathOf(name);
  if (!base::IsRegularFile(path)) return std::optional<std::string>();
  SONDE_ASSIGN_OR_RETURN(std::string sealed, base::ReadFile(path));
  SONDE_ASSIGN_OR_RETURN(std::string message, Opened(std::move(sealed), path));
  return std::optional<std::string>(std::move(message));
}

bool Rendezvous::IsThere(int32_t number) {
  const auto now = Clock::now();
  Pulse& pulse = pulses_.try_emplace(number, Pulse{0, now}).first->second;
  const Seen seen = Look(number);
  const bool is_ours = seen.is_there && seen.beat.token == token_;
  if (is_ours && seen.beat.count != pulse.count) pulse = {seen.beat.count, now};
  return now - pulse.at < (is_ours && seen.is_locked.value_or(true) ? kSilent : kSilentAndFree);
}

Status Rendezvous::RemoveMessages() const {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder_));
  for (const base::DirectoryEntry& entry : entries) {
    if (!IsOfRendezvous(entry.name)) continue;
    SONDE_RETURN_IF_ERROR(base::RemoveTree(base::JoinPath(folder_, entry.name)));
  }
  return {};
}

void Rendezvous::Close() {
  RemoveMessages().IgnoreError();
  ::rmdir(folder_.c_str());  // stays where somebody else has files in it
}

}  // namespace sonde::cluster

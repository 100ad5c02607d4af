#include "record/session.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "base/clock.h"
#include "base/files.h"
#include "base/secrets.h"
#include "record/clock.h"
#include "record/error.h"
#include "record/file.h"
#include "record/memory.h"

namespace sonde::record {
namespace {

using capture::EntryType;
using capture::StopReason;

constexpr int64_t kMsNs = 1'000'000;
constexpr int64_t kMinPeriodNs = 5 * kMsNs;
constexpr int64_t kMaxPeriodNs = 50 * kMsNs;
// Soon after the begin, so that a short capture has a rate of its own; later ones are far apart.
constexpr int64_t kFirstClockPeriodNs = 20 * kMsNs;
constexpr int64_t kClockPeriodNs = 1'000 * kMsNs;
constexpr double kBusyFill = 0.10;   // drain more often above it
constexpr double kQuietFill = 0.02;  // and less often below it
constexpr size_t kFamilyPage = 4096;
// The dictionary of a session that keeps the last seconds is rewritten when it has doubled and is
// at least this large.
constexpr uint64_t kMinDictionaryLimit = uint64_t{1} << 20;

std::string_view AsBytes(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

// For Dictionary::NoteUse: above 0, and nothing is older than a session.
uint32_t Seconds(int64_t now_ns) { return static_cast<uint32_t>(now_ns / (1'000 * kMsNs)) + 1; }

bool IsDiskFull(int error) { return error == -ENOSPC || error == -EDQUOT || error == -EFBIG; }

}  // namespace

Session::Session(SessionConfig config, uint32_t word, Dictionary* dictionary, RingList* rings)
    : config_(std::move(config)),
      word_(word),
      dictionary_(dictionary),
      rings_(rings),
      unfinished_(capture::kMaxOpenRanges) {}

Session::~Session() {
  if (family_flag_ != nullptr) munmap(family_flag_, kFamilyPage);
}

int Session::Open(bool forked_child, uint32_t parent_pid, ErrorHandler on_error) {
  on_error_ = on_error;
  opened_ns_ = MonotonicNs();
  int result = MakeSpanFolder(config_, forked_child, &path_);
  if (result != 0) return result;
  identity_.folder = path_ + "/SONDE";
  identity_.pid = static_cast<uint32_t>(getpid());
  identity_.clock_kind = RecorderClock();
  identity_.session_id =
      static_cast<uint64_t>(base::RealtimeNs()) ^ (uint64_t{identity_.pid} << 40);

  result = OpenFiles();
  if (result != 0) {
    result = Fail(-result, "cannot write to %s: %s", identity_.folder.c_str(), ErrorText(-result));
  } else {
    WriteProcessFacts(parent_pid);
    result = StartDrainThread();
  }
  if (result != 0) {
    dictionary_->Detach();
    segments_.Close();
    dictionary_files_[1].Close();
    // Removes the new files; a failure leaves an empty capture, which readers accept.
    base::RemoveTree(identity_.folder).IgnoreError();
    rmdir(path_.c_str());
    return result;
  }
  void* page =
      mmap(nullptr, kFamilyPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) family_flag_ = new (page) std::atomic<uint32_t>(0);
  rings_->Open(identity_, config_.ring_slots, word_, {&Session::WakeDrain, this});
  return 0;
}

void Session::SetFeatures(uint32_t features, uint32_t word) {
  config_.features = features;
  word_ = word;
  dictionary_->SetMetadata("features", std::to_string(features));
  rings_->Open(identity_, config_.ring_slots, word_, {&Session::WakeDrain, this});
}

int Session::OpenFiles() {
  const int64_t keep_ns = int64_t{config_.keep_last_seconds} * 1'000 * kMsNs;
  int result = segments_.Create(identity_, keep_ns);
  if (result == 0) result = dictionary_files_[1].Create(identity_, dictionary_number_);
  if (KeepsLast()) dictionary_->KeepOnlyLive(Seconds(MonotonicNs()));
  if (result == 0) result = dictionary_->Attach(&dictionary_files_[1]);
  dictionary_limit_ = dictionary_->bytes_written() + kMinDictionaryLimit;
  return result;
}

void Session::WriteProcess() {
  constexpr size_t kMaxCommandLine = 32 * 1024;
  dictionary_->WriteOnce(
      EntryType::kProcess, static_cast<uint32_t>(getppid()),
      base::MaskedCommandLine(ReadSmallFile("/proc/self/cmdline", kMaxCommandLine), '\0'));
}

void Session::WriteProcessFacts(uint32_t parent_pid) {
  WriteProcess();
  if (parent_pid != 0) dictionary_->SetMetadata("parent_pid", std::to_string(parent_pid));
  if (!config_.options.empty()) dictionary_->SetMetadata("options", config_.options);
  dictionary_->SetMetadata("features", std::to_string(config_.features));
  SampleClock();
}

int Session::StartDrainThread() {
  // The host's signals are not for this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Address space is the program's, too: the usual 8 MB for a stack are not needed.
  constexpr size_t kStackBytes = size_t{512} << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int error = pthread_create(&drain_thread_, &attributes, &Session::DrainMain, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return Fail(error, "cannot start the drain thread: %s", ErrorText(error));
  pthread_setname_np(drain_thread_, "sonde-drain");
  drain_running_ = true;
  return 0;
}

void* Session::DrainMain(void* self) {
  static_cast<Session*>(self)->DrainLoop();
  return nullptr;
}

void Session::WakeDrain(void* self) {
  auto* session = static_cast<Session*>(self);
  {
    const std::lock_guard lock(session->wake_mutex_);
    session->drain_now_ = true;
  }
  session->wake_.notify_all();
}

void Session::DrainLoop() {
  int64_t period_ns = kMinPeriodNs;
  int64_t clock_period_ns = kFirstClockPeriodNs;
  int64_t next_clock_ns = MonotonicNs() + clock_period_ns;
  for (;;) {
    {
      std::unique_lock lock(wake_mutex_);
      wake_.wait_for(lock, std::chrono::nanoseconds(period_ns),
                     [this] { return stop_drain_ || drain_now_; });
      if (stop_drain_) return;
      drain_now_ = false;
    }
    if (ending_) {
      const SessionError error = error_;  // the handler deletes the session
      if (on_error_(error)) return;
      continue;
    }
    const double fill = DrainAll();
    if (!ending_ && rings_->MakeSpares()) period_ns = kMinPeriodNs;  // more threads may begin
    if (fill > kBusyFill) period_ns = std::max(period_ns / 2, kMinPeriodNs);
    if (fill < kQuietFill) period_ns = std::min(period_ns + kMinPeriodNs, kMaxPeriodNs);
    const int64_t now_ns = MonotonicNs();
    if (now_ns >= next_clock_ns) {
      SampleClock();
      clock_period_ns = std::min(clock_period_ns * 4, kClockPeriodNs);
      next_clock_ns = now_ns + clock_period_ns;
    }
    const int result = segments_.RotateIfDue(now_ns);
    if (result != 0) SetError(StopReason::kError, result, "");
    if (KeepsLast()) RotateDictionaryIfLarge(now_ns);
    CheckErrors();
  }
}

double Session::DrainAll() {
  double fullest = 0;
  uint64_t dropped = dropped_closed_;
  for (Ring* ring : rings_->Snapshot()) {
    const bool over = ring->OwnerDone();  // asked first: nothing can be committed after it
    fullest = std::max(fullest, ring->Fill());
    if (!DrainRing(ring)) return fullest;
    dropped += ring->dropped();
    if (over) CloseRing(ring, true);
  }
  dropped_.store(std::max(dropped, dropped_.load(std::memory_order_relaxed)),
                 std::memory_order_relaxed);
  UpdateBytes();
  return fullest;
}

bool Session::DrainRing(Ring* ring) {
  if (!ring->OwnerDone()) ring->PopulateAhead();
  ChunkSource source;
  if (ring->Pending(&source)) {
    AppendChunk(source);
    if (failed_) return false;
    ring->reported_dropped = source.dropped_total;
    ring->Take(source);
  }
  return true;
}

// Last chunk of a ring whose owner cannot record any more: unreported drops, ranges still open.
// Where they cannot be written, the ring's file stays and holds them.
void Session::CloseRing(Ring* ring, bool owner_is_out) {
  ChunkSource source;
  const bool left_over = ring->Pending(&source);
  if (!failed_ && !left_over) {
    source.counts[0] =
        owner_is_out ? ring->OpenRanges(unfinished_.data(), capture::kMaxOpenRanges) : 0;
    source.pieces[0] = unfinished_.data();
    if (source.counts[0] != 0 || source.dropped_total != ring->reported_dropped) {
      AppendChunk(source);
    }
  }
  if (KeepsLast()) dictionary_->EndThread(ring->thread_index());
  dropped_closed_ += source.dropped_total;
  orphan_pops_ += ring->writer()->orphan_pops;
  if (!failed_ && !left_over && ring->OwnerDone() && rings_->Keep(ring)) return;
  if (!failed_) ring->RemoveFile();
  rings_->Remove(ring);
  ring->ReleaseBySession(owner_is_out);
}

void Session::AppendChunk(const ChunkSource& source) {
  uint64_t records = 0;
  if (KeepsLast()) dictionary_->NoteUse(source, Seconds(MonotonicNs()));
  const int result = segments_.Append(source, &records);
  if (result == 0) {
    records_.fetch_add(records, std::memory_order_relaxed);
  } else {
    SetError(StopReason::kError, result, "");
  }
}

void Session::SampleClock() {
  const capture::ClockSampleEntry sample = TakeClockSample(identity_.clock_kind);
  dictionary_->WriteOnce(EntryType::kClockSample, 0, AsBytes(&sample, sizeof(sample)));
  if (KeepsLast()) kept_samples_.push_back({MonotonicNs(), sample});
}

void Session::RotateDictionaryIfLarge(int64_t now_ns) {
  // Twice the time to keep: the oldest segment is older than that time by itself.
  const int64_t kept_ns = 2 * int64_t{config_.keep_last_seconds} * 1'000 * kMsNs;
  while (kept_samples_.size() > 2 && now_ns - kept_samples_[1].now_ns > kept_ns) {
    kept_samples_.pop_front();
  }
  if (dictionary_->bytes_written() < dictionary_limit_ || now_ns < kept_ns) return;
  const int result = RotateDictionary(now_ns);
  if (result != 0) SetError(StopReason::kError, result, "");
}

// The old file goes when all is in the new one: whenever the process ends, one of them is whole.
int Session::RotateDictionary(int64_t now_ns) {
  for (Ring* ring : rings_->Snapshot()) {  // open ranges may be needed if the process is killed
    ChunkSource open;
    open.thread_index = ring->thread_index();
    open.counts[0] = ring->OpenRanges(unfinished_.data(), capture::kMaxOpenRanges);
    open.pieces[0] = unfinished_.data();
    dictionary_->NoteUse(open, Seconds(now_ns));
  }
  DictionaryFile& before = dictionary_files_[dictionary_number_ % 2];
  DictionaryFile& next = dictionary_files_[(dictionary_number_ + 1) % 2];
  int result = next.Create(identity_, dictionary_number_ + 1);
  if (result != 0) return result;
  ++dictionary_number_;
  const int64_t since_ns = now_ns - 2 * int64_t{config_.keep_last_seconds} * 1'000 * kMsNs;
  result = dictionary_->Rotate(&next, Seconds(since_ns));
  if (result != 0) return result;
  WriteProcess();
  for (const KeptSample& kept : kept_samples_) {
    dictionary_->WriteOnce(EntryType::kClockSample, 0, AsBytes(&kept.sample, sizeof(kept.sample)));
  }
  before.Close();
  before.Remove();
  dictionary_limit_ = std::max(2 * dictionary_->bytes_written(), kMinDictionaryLimit);
  return 0;
}

void Session::UpdateBytes() {
  bytes_.store(segments_.bytes_on_disk() + dictionary_->bytes_written(), std::memory_order_relaxed);
}

void Session::CheckErrors() {
  const int error = dictionary_->write_error();
  if (error != 0) SetError(StopReason::kError, error, "");
  if (IsOutOfMemory()) {
    SetError(StopReason::kError, -ENOMEM, "recording stopped: the program has no memory left");
  }
  const uint32_t parents = inherited_flag_ == nullptr
                               ? kParentRecords
                               : inherited_flag_->load(std::memory_order_relaxed);
  if (parents == kParentStopped) {
    SetError(StopReason::kStopped, 0, "the parent process stopped recording");
  } else if (parents == kParentEnded && !detached_) {
    detached_ = true;  // a daemon: it was not stopped by the user
    dictionary_->SetMetadata("detached", "true");
  }
  if (config_.max_bytes != 0 && bytes() > config_.max_bytes) {
    SetError(StopReason::kLimit, -EFBIG,
             "recording stopped: " + path_ + " has reached its limit of " +
                 std::to_string(config_.max_bytes) + " bytes");
  }
  CheckBudget();
}

// A planned end, not an error: a later stop of the session returns its path.
void Session::CheckBudget() {
  const auto seconds = static_cast<uint64_t>((MonotonicNs() - opened_ns_) / (1'000 * kMsNs));
  std::string reached;
  if (budget_.bytes != 0 && bytes() > budget_.bytes) {
    reached = std::to_string(budget_.bytes) + " bytes (--profile-max-size)";
  } else if (budget_.seconds != 0 && seconds >= budget_.seconds) {
    reached = std::to_string(budget_.seconds) + " seconds (--profile-max-seconds)";
  }
  if (reached.empty() || ending_) return;
  SetError(StopReason::kLimit, 0,
           "recording stopped: " + path_ + " has reached its limit of " + reached);
  PrintMessage("%s", error_.message.c_str());
}

void Session::SetError(StopReason reason, int error, std::string message) {
  if (ending_) return;
  ending_ = true;
  if (message.empty()) {
    failed_ = true;
    if (IsDiskFull(error)) reason = StopReason::kDiskFull;
    message = "recording stopped: cannot write to " + identity_.folder + ": " + ErrorText(-error);
  }
  error_ = {reason, error, std::move(message)};
}

SessionError Session::Finish(SessionError end, bool all_out) {
  StopDrainThread();
  if (!failed_) DrainAll();
  uint64_t dropped = dropped_closed_;
  for (Ring* ring : rings_->Snapshot()) {
    dropped += ring->dropped();
    CloseRing(ring, all_out);
  }
  rings_->RemoveSpares();
  dropped_.store(dropped, std::memory_order_relaxed);
  if (ending_ && end.reason == StopReason::kStopped) end = error_;
  WriteEnd(end, dropped, all_out);
  UpdateBytes();
  dictionary_->Detach();
  segments_.Close();
  for (DictionaryFile& file : dictionary_files_) file.Close();
  if (family_flag_ != nullptr) {
    family_flag_->store(end.reason == StopReason::kExit ? kParentEnded : kParentStopped,
                        std::memory_order_relaxed);
  }
  return end;
}

void Session::StopDrainThread() {
  if (!drain_running_) return;
  drain_running_ = false;
  if (pthread_equal(pthread_self(), drain_thread_) != 0) {
    pthread_detach(drain_thread_);
    return;
  }
  {
    const std::lock_guard lock(wake_mutex_);
    stop_drain_ = true;
  }
  wake_.notify_all();
  pthread_join(drain_thread_, nullptr);
}

void Session::WriteEnd(const SessionError& end, uint64_t dropped, bool all_out) {
  dictionary_->OpenReserve();
  SampleClock();
  const uint64_t lost_arguments = dictionary_->TakeLostArguments();
  if (lost_arguments != 0) {
    dictionary_->WriteOnce(
        EntryType::kIssue, 0,
        std::to_string(lost_arguments) + " arguments were left out: their set was full");
  }
  if (orphan_pops_ != 0) {
    dictionary_->WriteOnce(EntryType::kIssue, 0,
                           std::to_string(orphan_pops_) +
                               " range ends were ignored: they had no begin in this session");
  }
  if (!all_out) {
    dictionary_->WriteOnce(EntryType::kIssue, 0,
                           "a thread did not leave its recording section in time: its last record "
                           "may be missing");
  }
  std::string payload(AsBytes(&dropped, sizeof(dropped)));
  payload += end.message;
  dictionary_->WriteOnce(EntryType::kSessionEnd, static_cast<uint32_t>(end.reason), payload);
}

void Session::DropInChild() {
  segments_.Close();
  for (DictionaryFile& file : dictionary_files_) file.Abandon();
}

}  // namespace sonde::record

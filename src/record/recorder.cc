#include "record/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/files.h"
#include "record/clock.h"
#include "record/error.h"
#include "record/file.h"
#include "record/memory.h"

namespace sonde::record {
namespace {

constinit RingWriter no_ring;  // of threads without a ring: its word never equals a session's
constexpr size_t kMaxListeners = 16;

pthread_key_t thread_key;
std::atomic<bool> made{false};
thread_local ThreadInfo* current_thread = nullptr;

void SetSessionWord(uint32_t word) { __atomic_store_n(&sonde_features_, word, __ATOMIC_SEQ_CST); }

}  // namespace
}  // namespace sonde::record

extern "C" {
uint32_t sonde_features_ = 0;
__thread sonde::record::RingWriter* sonde_ring_ = &sonde::record::no_ring;

sonde::record::RingWriter* sonde_ring_acquire_(uint32_t word) {
  return sonde::record::Recorder::Get().AcquireRing(word);
}

bool sonde_ring_room_(sonde::record::RingWriter* ring, uint64_t count) {
  return static_cast<sonde::record::Ring*>(ring->state)->FindRoom(count);
}

void sonde_pop_misplaced_(sonde::record::RingWriter* ring, uint64_t kinds, uint32_t above,
                          uint64_t end_ticks) {
  using sonde::record::Record;
  if (end_ticks == 0) end_ticks = sonde::record::Ticks(ring->use_counter != 0);
  for (uint32_t i = ring->open_depth; i-- > 0;) {
    const Record open = ring->open[i];
    const auto kind = static_cast<uint32_t>(sonde::capture::KindOf(open));
    if (((kinds >> kind) & 1) == 0) continue;
    if (above > 0) {
      --above;
      continue;
    }
    if (kind != 0) {
      Record record = open;
      record.dur_kind += sonde::record::DurKind(open.ticks, end_ticks);
      sonde::record::MarkEnd(ring, &ring->open[i]);
      sonde::record::CommitRecord(ring, record);
    }
    for (uint32_t j = i + 1; j < ring->open_depth; ++j) ring->open[j - 1] = ring->open[j];
    sonde::record::SetDepth(ring, ring->open_depth - 1);
    return;
  }
  ++ring->orphan_pops;
}
}

namespace sonde::record {

Recorder& Recorder::Get() {
  static Recorder* const recorder = new Recorder;
  return *recorder;
}

bool Recorder::IsMade() { return made.load(std::memory_order_relaxed); }

Recorder::Recorder() {
  made.store(true, std::memory_order_relaxed);
  no_ring.use_counter = RecorderClock() == capture::ClockKind::kTsc ? 1 : 0;
  RegisterMemoryBarrier();  // asked again when it is needed
  pthread_key_create(&thread_key, &Recorder::EndThread);
  pthread_atfork([] { Get().BeforeFork(); }, [] { Get().AfterForkInParent(); },
                 [] { Get().AfterForkInChild(); });
}

uint32_t Recorder::NextWord(uint32_t features) {
  uint32_t number = word_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  return (number << 16) | (features & kFeatureMask);
}

int Recorder::Prepare(const SessionConfig* config) {
  const std::lock_guard lock(control_mutex_);
  return PrepareLocked(config == nullptr ? SessionConfig::FromC(nullptr) : *config);
}

int Recorder::PrepareLocked(const SessionConfig& config) {
  // In this order: the pending one is there before it is not pending any more.
  if (child_pending_.load(std::memory_order_acquire) || session_ != nullptr) {
    return Fail(EBUSY, "a session is active already: %s", Path().c_str());
  }
  ended_by_itself_ = false;
  if (!TryForMemory()) return Fail(ENOMEM, "the program has no memory left for a recording");
  auto* session = new Session(config, NextWord(config.features), &dictionary_, &rings_);
  dictionary_.SetDomainFilter(config.domain_include, config.domain_exclude);
  const int result =
      session->Open(false, 0, [](const SessionError& error) { return Get().StopOnError(error); });
  if (result != 0) {
    delete session;
    SetState(RecorderState::kIdle);
    return result;
  }
  {
    const std::lock_guard status_lock(status_mutex_);
    session_ = session;
    path_ = session->path();
  }
  SetState(RecorderState::kPrepared);
  AcquireRing(session->word());
  Notify(SONDE_EVENT_PREPARE, session->config());
  return 0;
}

int Recorder::Start(const SessionConfig* config) {
  const std::lock_guard lock(control_mutex_);
  if (session_ == nullptr || state_.load(std::memory_order_relaxed) != RecorderState::kPrepared) {
    const int result = PrepareLocked(config == nullptr ? SessionConfig::FromC(nullptr) : *config);
    if (result != 0) return result;
  } else if (config != nullptr && config->features != session_->config().features) {
    const uint32_t number = session_->word() & ~kFeatureMask;
    session_->SetFeatures(config->features, number | config->features);
  }
  session_number_.fetch_add(1, std::memory_order_relaxed);
  Notify(SONDE_EVENT_START, session_->config());
  SetState(RecorderState::kRecording);
  SetSessionWord(session_->word());
  if (dictionary_.write_error() != 0) SetSessionWord(0);  // since it was prepared
  return 0;
}

int Recorder::Stop(std::string* path) {
  const std::lock_guard lock(control_mutex_);
  *path = Path();
  if (state_.load(std::memory_order_relaxed) == RecorderState::kError) {
    SetState(RecorderState::kIdle);
    return Fail(-last_error_.error, "%s", last_error_.message.c_str());
  }
  if (DropPendingChild()) {
    SetState(RecorderState::kIdle);
    path->clear();
    return 0;
  }
  if (session_ == nullptr) {
    if (std::exchange(ended_by_itself_, false)) return 0;
    path->clear();
    return Fail(EALREADY, "no session is active");
  }
  StopLocked({});
  if (last_error_.error != 0) return Fail(-last_error_.error, "%s", last_error_.message.c_str());
  return 0;
}

// Afterwards there is no session, and last_error_ holds the reason.
void Recorder::StopLocked(SessionError end) {
  if (end.reason != capture::StopReason::kExit) Notify(SONDE_EVENT_STOP, session_->config());
  SetSessionWord(0);
  const bool all_out = rings_.WaitUntilOut();
  last_error_ = session_->Finish(std::move(end), all_out);
  SetState(last_error_.error != 0 ? RecorderState::kError : RecorderState::kIdle);
  Session* ended = session_;
  {
    const std::lock_guard status_lock(status_mutex_);
    session_ = nullptr;
    last_records_ = ended->records();
    last_dropped_ = ended->dropped();
    last_bytes_ = ended->bytes();
  }
  delete ended;
}

bool Recorder::StopOnError(const SessionError& error) {
  const std::unique_lock lock(control_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || child_pending_.load(std::memory_order_acquire)) return false;
  if (error.error != 0) PrintMessage("%s", error.message.c_str());
  StopLocked(error);
  ended_by_itself_ = last_error_.error == 0;
  return true;
}

int Recorder::Discard() {
  std::string path;
  const int stopped = Stop(&path);
  if (path.empty()) return stopped;
  const Status removed = base::RemoveTree(path);
  if (!removed.ok()) return FailWith(removed);
  return stopped;
}

void Recorder::StopAtExit() {
  control_.CloseAtExit();
  // Another thread may be inside for ever (a listener that waits for an interpreter that is gone).
  // Nothing is lost then: the rings stay.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::unique_lock lock(control_mutex_, std::try_to_lock);
    if (lock.owns_lock()) {
      DropPendingChild();
      if (session_ != nullptr) StopLocked({capture::StopReason::kExit, 0, ""});
      SetSessionWord(0);
      return;
    }
    const timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
}

void Recorder::GetStatus(sonde_session_status* status) {
  const std::lock_guard lock(status_mutex_);
  status->state = static_cast<uint32_t>(state_.load(std::memory_order_relaxed));
  status->session_number = session_number_.load(std::memory_order_relaxed);
  status->records = session_ != nullptr ? session_->records() : last_records_;
  status->dropped = session_ != nullptr ? session_->dropped() : last_dropped_;
  status->bytes = session_ != nullptr ? session_->bytes() : last_bytes_;
  status->step = step_.load(std::memory_order_relaxed);
}

uint32_t Recorder::KeepLastSeconds() {
  const std::lock_guard lock(status_mutex_);
  return session_ != nullptr ? session_->config().keep_last_seconds : 0;
}

std::string Recorder::Path() {
  const std::lock_guard lock(status_mutex_);
  return path_;
}

int Recorder::AddListener(sonde_listener listener, void* data, bool in_fork) {
  const std::lock_guard lock(status_mutex_);
  if (listeners_.size() >= kMaxListeners) return Fail(ENOSPC, "too many listeners");
  listeners_.push_back({listener, data, in_fork});
  return 0;
}

void Recorder::Notify(sonde_event event, const SessionConfig& config) {
  std::vector<Listener> listeners;
  {
    const std::lock_guard lock(status_mutex_);
    listeners = listeners_;
  }
  const sonde_session_config c_config = config.ToC();
  for (const Listener& listener : listeners) {
    if (event == SONDE_EVENT_FORK_CHILD && !listener.in_fork) continue;
    listener.call(event, &c_config, listener.data);
  }
}

namespace {

// Takes the open step off the thread's stack.
void ForgetStep(uint32_t word) {
  RingWriter* ring = Enter(word, false);
  if (ring == nullptr) return;
  const uint32_t depth = std::min<uint32_t>(ring->open_depth, capture::kMaxOpenRanges);
  for (uint32_t i = depth; i-- > 0;) {
    if (capture::KindOf(ring->open[i]) != RecordKind::kStep) continue;
    for (uint32_t j = i + 1; j < depth; ++j) ring->open[j - 1] = ring->open[j];
    SetDepth(ring, ring->open_depth - 1);
    break;
  }
  Leave(ring);
}

// Two records, or none.
void EmitProcessorUse(uint32_t word, const ProcessorUse& use) {
  RingWriter* ring = Enter(word, true);
  if (ring == nullptr) return;
  if (HasRoom(ring, 2)) {
    const uint64_t ticks = Ticks(ring->use_counter != 0);
    const auto record = [&](RecordKind kind, uint64_t ns, uint64_t more, uint32_t switches) {
      return Record{ticks,
                    capture::PackDurKind(0, kind, 0) | (ns & capture::kDurationMask),
                    0,
                    static_cast<uint32_t>(more),
                    static_cast<uint32_t>(more >> 32),
                    static_cast<int32_t>(switches)};
    };
    ring->slots[ring->head & ring->mask] =
        record(RecordKind::kThreadUse, use.thread_ns, use.wait_ns, use.thread_switches);
    const uint64_t faults = uint64_t{use.process_faults} << 32 | use.thread_faults;
    ring->slots[(ring->head + 1) & ring->mask] =
        record(RecordKind::kProcessUse, use.process_ns, faults, use.process_switches);
    CommitSlots(ring, 2);
  }
  Leave(ring);
}

}  // namespace

void Recorder::Step(int64_t number) {
  const auto step = static_cast<int32_t>(number);
  if (number >= 0) step_.store(step, std::memory_order_relaxed);
  const uint32_t word = SessionWord();
  if (word == 0) return;
  if (number < -1) {
    ForgetStep(word);
    return;
  }
  RecordProcessorUse();
  RingWriter* ring = sonde_ring_;
  const uint32_t orphans = ring->orphan_pops;
  PopOpen(word, kStepKinds);
  if (ring != &no_ring) ring->orphan_pops = orphans;  // the first step has none before it
  if (number < 0) return;
  const uint32_t name = dictionary_.Name("ProfilerStep#" + std::to_string(number));
  PushOpen(word, RecordKind::kStep, 0, name, 0, 0, step);
}

void Recorder::RecordProcessorUse() {
  const uint32_t word = SessionWord();
  if (word == 0) return;
  EmitProcessorUse(word, CurrentThread()->use.Read());
}

// ---- Threads ----

ThreadInfo* Recorder::CurrentThread() {
  if (current_thread == nullptr) {
    current_thread = new ThreadInfo;
    current_thread->entry.index = next_thread_index_.fetch_add(1, std::memory_order_relaxed);
    pthread_setspecific(thread_key, current_thread);
  }
  return current_thread;
}

RingWriter* Recorder::AcquireRing(uint32_t word) {
  ThreadInfo* info = CurrentThread();
  if (info->in_acquire) return nullptr;  // a record made by something called below
  info->in_acquire = true;
  if (child_pending_.load(std::memory_order_acquire)) OpenChildCapture();
  RingWriter* writer = nullptr;
  Ring* ring = info->ring;
  const uint32_t ring_word =
      ring == nullptr ? 0 : ring->writer()->word.load(std::memory_order_relaxed);
  if (ring != nullptr && (ring_word & ~kFeatureMask) == (word & ~kFeatureMask)) {
    writer = ring->writer();  // made while the session was prepared with other features
    writer->word.store(word, std::memory_order_relaxed);
  } else {
    sonde_ring_ = &no_ring;
    info->ring = nullptr;
    if (ring != nullptr) ring->ReleaseByOwner();
    info->entry.tid = static_cast<uint32_t>(gettid());
    if (info->entry.name.empty()) {
      char name[16] = {};
      pthread_getname_np(pthread_self(), name, sizeof(name));
      info->entry.name = name;
    }
    info->ring = rings_.Acquire(word, info->entry);
    if (info->ring != nullptr) writer = info->ring->writer();
  }
  if (writer != nullptr) sonde_ring_ = writer;
  info->in_acquire = false;
  return writer;
}

void Recorder::PublishThread(const ThreadInfo& info) {
  if (info.ring != nullptr) dictionary_.SetThread(info.entry);
}

void Recorder::NameThread(std::string name) {
  ThreadInfo* info = CurrentThread();
  info->entry.name = std::move(name);
  PublishThread(*info);
}

void Recorder::NumberThread(uint32_t number) {
  ThreadInfo* info = CurrentThread();
  info->entry.framework_number = number;
  PublishThread(*info);
}

void Recorder::EndThread(void* thread_info) {
  auto* info = static_cast<ThreadInfo*>(thread_info);
  sonde_ring_ = &no_ring;
  current_thread = nullptr;
  if (info->ring != nullptr) info->ring->ReleaseByOwner();
  delete info;
}

// ---- Fork ----

void Recorder::BeforeFork() {
  control_.dynamic().LockForFork();
  child_mutex_.lock();
  rings_.LockForFork();
  dictionary_.LockForFork();
  status_mutex_.lock();
  parent_pid_ = static_cast<uint32_t>(getpid());
}

void Recorder::AfterForkInParent() {
  status_mutex_.unlock();
  dictionary_.UnlockAfterFork();
  rings_.UnlockAfterFork();
  child_mutex_.unlock();
  control_.dynamic().UnlockAfterFork();
}

void Recorder::AfterForkInChild() {
  const uint32_t features = SessionWord() & kFeatureMask;
  SetSessionWord(0);
  sonde_ring_ = &no_ring;
  if (current_thread != nullptr) {
    current_thread->ring = nullptr;
    current_thread->in_acquire = false;
    current_thread->use.Close();
  }
  rings_.DropInChild();
  dictionary_.DropFileInChild();
  control_.dynamic().DropInChild();
  control_.DropInChild();
  AfterForkInParent();               // unlocks
  new (&control_mutex_) std::mutex;  // another thread of the parent may have held it

  Session* parents = session_;
  session_ = nullptr;
  path_.clear();
  SetState(RecorderState::kIdle);
  if (parents != nullptr) {
    parents->DropInChild();
    child_config_ = parents->config();
    inherited_flag_ =
        parents->inherited_flag() != nullptr ? parents->inherited_flag() : parents->family_flag();
  }
  if (features != 0) {
    child_pending_.store(true);
    SetState(RecorderState::kRecording);
    SetSessionWord(NextWord(features));
  }
  Notify(SONDE_EVENT_FORK_CHILD, child_config_);
}

// The child's own capture begins with its first record: most children never make one.
void Recorder::StartInChild() {
  ThreadInfo* info = CurrentThread();
  if (info->in_acquire) return;  // a record made by something called below
  info->in_acquire = true;
  OpenChildCapture();
  info->in_acquire = false;
}

// Runs no foreign code, so that threads that record meanwhile may wait for it.
void Recorder::OpenChildCapture() {
  const std::lock_guard lock(child_mutex_);
  if (!child_pending_.load(std::memory_order_relaxed)) return;
  auto* session = new Session(child_config_, SessionWord(), &dictionary_, &rings_);
  session->set_inherited_flag(inherited_flag_);
  const int result = session->Open(
      true, parent_pid_, [](const SessionError& error) { return Get().StopOnError(error); });
  if (result != 0) {
    PrintMessage("process %d is not recorded: %s", static_cast<int>(getpid()), LastError());
    SetSessionWord(0);
    SetState(RecorderState::kIdle);
    delete session;
  } else {
    session_number_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard status_lock(status_mutex_);
    session_ = session;
    path_ = session->path();
  }
  child_pending_.store(false, std::memory_order_release);
}

// Whether the child had recorded nothing; then it does not any more.
bool Recorder::DropPendingChild() {
  const std::lock_guard lock(child_mutex_);
  if (!child_pending_.load(std::memory_order_relaxed)) return false;
  SetSessionWord(0);
  child_pending_.store(false, std::memory_order_release);
  return true;
}

}  // namespace sonde::record

#include "adapt/torch/observer.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <new>

#include "adapt/torch/callback_lock.h"
#include "adapt/torch/collectives.h"
#include "adapt/torch/crossing_scopes.h"
#include "adapt/torch/thread_state.h"
#include "record/fast_path.h"
#include "sonde/sonde.h"

namespace sonde::adapt {
namespace {

using capture::RecordKind;

// The pops of this observer end its own ranges, not module ranges or Python functions, which may be
// in between when a program ends its user scopes in another order.
constexpr uint64_t kObserverKinds =
    record::kAdapterKinds & ~((uint64_t{1} << static_cast<int>(RecordKind::kModule)) |
                              (uint64_t{1} << static_cast<int>(RecordKind::kPythonFunction)));

// An asynchronous range that is open, until its end comes on any thread. range: nullptr = free,
// kClaimed while the slot is being filled.
struct AsyncRange {
  std::atomic<const TorchRange*> range{nullptr};
  uint32_t word = 0;
  NameInfo name = {};
  uint32_t args = 0;
  int32_t sequence = -1;
  uint64_t start_ticks = 0;
};
constexpr size_t kAsyncSlots = 1024;
constexpr int kMaxWaits = 20;
constexpr long kWaitNs = 250'000;  // NOLINT(google-runtime-int): as timespec has it

// The recorder's clock: same source as in its own push and pop.
struct Observer {
  const ObserverConfig* config = nullptr;
  uint64_t handles[2] = {0, 0};
  std::mutex mutex;  // of handles and options; never taken by the callbacks
  ObserverOptions options;
  pthread_mutex_t* callback_lock = nullptr;  // torch's; nullptr: not found
  std::atomic<uint64_t> async_dropped{0};
  std::atomic<uint64_t> misnested{0};
  AsyncRange async[kAsyncSlots];
  CrossingScopes scopes;
};
// Process-wide by nature: torch's callbacks carry no user pointer.
Observer g_observer;

size_t AsyncPlace(const TorchRange* range) {
  return (reinterpret_cast<uintptr_t>(range) >> 4) % kAsyncSlots;
}

const TorchRange* Claimed() { return reinterpret_cast<const TorchRange*>(uintptr_t{1}); }

void OpenAsync(uint32_t word, const TorchRange* range, NameInfo name, uint32_t args,
               int32_t sequence) {
  for (size_t i = 0; i < 16; i++) {
    AsyncRange& slot = g_observer.async[(AsyncPlace(range) + i) % kAsyncSlots];
    const TorchRange* found = slot.range.load(std::memory_order_relaxed);
    // Entries of earlier sessions, and of an earlier range at this address, are free to take.
    if (found == Claimed() || (found != nullptr && found != range && slot.word == word)) continue;
    if (!slot.range.compare_exchange_strong(found, Claimed(), std::memory_order_acquire)) continue;
    slot.word = word;
    slot.name = name;
    slot.args = args;
    slot.sequence = sequence;
    slot.start_ticks = record::RecorderTicks();
    slot.range.store(range, std::memory_order_release);
    return;
  }
  g_observer.async_dropped.fetch_add(1, std::memory_order_relaxed);
}

void EmitUnfinished(uint32_t word, const AsyncRange& slot) {
  record::RingWriter* ring = record::Enter(word, true);
  if (ring == nullptr) return;
  capture::Record unfinished = {};
  unfinished.ticks = slot.start_ticks;
  unfinished.dur_kind = capture::PackDurKind(0, slot.name.kind, 0) | capture::kUnfinished;
  unfinished.name = slot.name.id;
  unfinished.args = slot.args;
  unfinished.sequence = slot.sequence;
  record::CommitRecord(ring, unfinished);
  record::Leave(ring);
}

// False: not an open asynchronous range.
bool CloseAsync(uint32_t word, const TorchRange* range) {
  for (size_t i = 0; i < 16; i++) {
    AsyncRange& slot = g_observer.async[(AsyncPlace(range) + i) % kAsyncSlots];
    const TorchRange* found = range;
    if (!slot.range.compare_exchange_strong(found, Claimed(), std::memory_order_acquire)) continue;
    if (slot.word == word) {
      record::EmitComplete(word, slot.name.kind, 0, slot.name.id, slot.args, 0, slot.sequence,
                           slot.start_ticks, record::RecorderTicks());
    }
    slot.range.store(nullptr, std::memory_order_release);
    return true;
  }
  return false;
}

NameInfo NameOf(ThreadState* state, const TorchRange* range, uint8_t scope) {
  const Layout& layout = g_observer.config->inputs.layout;
  if (layout.range == nullptr) {
    const char* name = g_observer.config->torch.range_name(range);
    return state->names.Text(name, std::strlen(name), true, kScopeFunction);
  }
  const bool schema = ReadAt<uint8_t>(range, layout.range->kind) == 1;
  const void* descriptor = ReadAt<const void*>(range, kRangeDescriptor);
  if (schema && layout.schema_names) [[likely]] {
    return state->names.Schema(descriptor, layout.range->old_strings);
  }
  const char* text = nullptr;
  size_t length = 0;
  if (schema) {
    text = g_observer.config->torch.range_name(range);
    length = std::strlen(text);
  } else {
    text = static_cast<const char*>(descriptor);
    length = layout.range->old_strings ? ReadAt<size_t>(text - kOldStringLength, 0)
                                       : ReadAt<size_t>(range, kRangeDescriptor + 8);
  }
  return state->names.Text(text, length, schema, scope);
}

// First range of a session on this thread: entries of earlier sessions are void.
[[gnu::noinline]] void BeginSession(ThreadState* state, uint32_t word, const TorchRange* range) {
  state->session = word;
  state->names.BeginSession();
  state->depth = 0;
  state->outermost_op = 0;
  state->graph = 0;
  if (g_observer.config->inputs.layout.range != nullptr) {
    sonde_thread_number(static_cast<uint32_t>(ReadAt<uint64_t>(range, kRangeThread)));
  }
}

// Operators that compiled code calls: which of its lines does is known by no name.
bool IsCallOfGraph(const ThreadState& state, RecordKind kind) {
  return state.graph != 0 && state.outermost_op == 0 &&
         (kind == RecordKind::kOp || kind == RecordKind::kCollective);
}

// Ranges that carry a call stack: user scopes, and operators that no other operator encloses.
bool WantsStack(const ThreadState& state, RecordKind kind) {
  if (kind == RecordKind::kOp || kind == RecordKind::kCollective) return state.outermost_op == 0;
  return kind == RecordKind::kUserScope || kind == RecordKind::kOptimizer ||
         kind == RecordKind::kDataLoader || kind == RecordKind::kCompiledRegion;
}

struct Inputs {
  const TorchValue* values = nullptr;
  size_t count = 0;
};

Inputs InputsOf(const TorchRange* range) {
  const Layout& layout = g_observer.config->inputs.layout;
  return {ReadAt<const TorchValue*>(range, layout.range->inputs),
          ReadAt<size_t>(range, layout.range->inputs + 8)};
}

// Argument set of a collective or its work. Inputs of operators are there when some observer asked
// for them (ours or another one, which does no harm); those of user scopes always.
[[gnu::noinline]] uint32_t CollectiveArgs(uint32_t word, const TorchRange* range, NameInfo name,
                                          bool shapes) {
  Inputs inputs;
  if (g_observer.config->inputs.layout.inputs) inputs = InputsOf(range);
  if (inputs.count == 0) inputs.values = nullptr;
  if (name.kind == RecordKind::kCollective) {
    return CollectiveCall(word, name.detail, inputs.values, inputs.count, shapes);
  }
  return CollectiveWork(word, static_cast<Collective>(name.detail), inputs.values, inputs.count);
}

bool IsCollective(RecordKind kind) {
  return kind == RecordKind::kCollective || kind == RecordKind::kCollectiveWork;
}

// An open user scope is marked in its thread's list, so that its end, which may come on another
// thread, takes the slow way.
const TorchRange* MarkedScope(const TorchRange* range) {
  return reinterpret_cast<const TorchRange*>(reinterpret_cast<uintptr_t>(range) | 1U);
}

void TakeOut(ThreadState* state, uint32_t place) {
  for (uint32_t k = place; k + 1 < state->depth; k++) state->open[k] = state->open[k + 1];
  state->depth--;
  for (uint32_t* outermost : {&state->outermost_op, &state->graph}) {
    if (*outermost == place + 1) {
      *outermost = 0;
    } else if (*outermost > place + 1) {
      --*outermost;
    }
  }
}

// Scopes of this thread that ended on others since its last range.
[[gnu::noinline]] void CloseScopesEndedElsewhere(ThreadState* state, uint32_t word) {
  if (state->session != word || state->depth > ThreadState::kMaxOpen) return;
  for (uint32_t i = state->depth; i-- > 0;) {
    const auto bits = reinterpret_cast<uintptr_t>(state->open[i]);
    if ((bits & 1U) == 0) continue;
    const auto* range = reinterpret_cast<const TorchRange*>(bits & ~uintptr_t{1});
    const uint64_t ticks = g_observer.scopes.TakeEnd(word, range);
    if (ticks == 0) continue;
    record::PopBelow(word, kObserverKinds, state->depth - 1 - i, ticks);
    TakeOut(state, i);
  }
}

template <bool kShapes, bool kStacks>
ObserverContext OnStart(const TorchRange* range) {
  const uint32_t word = record::SessionWord();
  ThreadState* state = GetThreadState();
  if (word == 0 || state == nullptr) return {};
  if (state->session != word) [[unlikely]] {
    BeginSession(state, word, range);
  }
  if (g_observer.scopes.HasEnded()) [[unlikely]]
    CloseScopesEndedElsewhere(state, word);
  const Layout& layout = g_observer.config->inputs.layout;
  const uint8_t scope = layout.range != nullptr ? ReadAt<uint8_t>(range, kRangeScope) : 0;
  const NameInfo name = NameOf(state, range, scope);
  int32_t sequence = -1;
  uint32_t link = 0;
  uint32_t args = 0;
  if (layout.sequence) [[likely]] {
    sequence = static_cast<int32_t>(ReadAt<int64_t>(range, layout.range->sequence));
    if (scope == kScopeBackward) {
      link = static_cast<uint32_t>(ReadAt<uint64_t>(range, layout.range->forward_thread));
    }
  }
  if (IsCollective(name.kind)) [[unlikely]] {
    args = CollectiveArgs(word, range, name, kShapes);
  } else if constexpr (kShapes) {
    const Inputs inputs = InputsOf(range);
    args = state->inputs.Intern(g_observer.config->inputs, inputs.values, inputs.count);
  }
  if (scope == kScopeUser && g_observer.config->torch.range_is_async(range)) {
    OpenAsync(word, range, name, args, sequence);
    return {};
  }
  if constexpr (kStacks) {
    if (WantsStack(*state, name.kind)) link = state->stacks.Capture();
  } else if (IsCallOfGraph(*state, name.kind)) [[unlikely]] {
    link = state->stacks.CaptureCallSite();
  }
  if (!record::PushOpen(word, name.kind, 0, name.id, args, link, sequence)) return {};
  if (state->depth < ThreadState::kMaxOpen) [[likely]] {
    const bool is_scope = scope == kScopeUser && g_observer.scopes.Open(word, range);
    state->open[state->depth] = is_scope ? MarkedScope(range) : range;
  }
  state->depth++;
  if (state->outermost_op == 0 && name.kind == RecordKind::kOp) state->outermost_op = state->depth;
  if (name.kind == RecordKind::kUserScope && name.detail == kCompiledGraph) [[unlikely]] {
    if (state->graph == 0) state->graph = state->depth;
  }
  return {};
}

// An end that does not belong to the innermost range, or that of a user scope.
[[gnu::noinline]] void EndMisplaced(ThreadState* state, uint32_t word, const TorchRange* range) {
  if (CloseAsync(word, range)) return;
  const bool knows_all = state->session != word || state->depth <= ThreadState::kMaxOpen;
  for (uint32_t i = state->session == word && knows_all ? state->depth : 0; i-- > 0;) {
    const bool is_scope = state->open[i] == MarkedScope(range);
    if (state->open[i] != range && !is_scope) continue;
    const uint32_t above = state->depth - 1 - i;
    if (is_scope) g_observer.scopes.Close(word, range);
    TakeOut(state, i);
    if (above > 0) g_observer.misnested.fetch_add(1, std::memory_order_relaxed);
    record::PopBelow(word, kObserverKinds, above);
    return;
  }
  if (g_observer.scopes.EndElsewhere(word, range, record::RecorderTicks()) || knows_all) return;
  state->depth--;
  record::PopOpen(word, kObserverKinds);
}

void OnEnd(const TorchRange* range, void*) {
  const uint32_t word = record::SessionWord();
  ThreadState* state = GetThreadState();
  if (word == 0 || state == nullptr) return;
  const uint32_t depth = state->depth;
  if (depth - 1 < ThreadState::kMaxOpen && state->open[depth - 1] == range &&
      state->session == word) [[likely]] {
    state->depth = depth - 1;
    if (state->outermost_op == depth) state->outermost_op = 0;
    if (state->graph == depth) [[unlikely]]
      state->graph = 0;
    record::PopOpen(word, kObserverKinds);
    return;
  }
  EndMisplaced(state, word, range);
}

ObserverCallback MakeCallback(bool shapes, bool stacks) {
  ObserverCallback callback = {};
  if (stacks) {
    callback.start = shapes ? OnStart<true, true> : OnStart<false, true>;
  } else {
    callback.start = shapes ? OnStart<true, false> : OnStart<false, false>;
  }
  callback.end = OnEnd;
  callback.sampling_probability = 1.0;
  return callback;
}

// The end of a work may come shortly after the program was notified of its completion: waits a
// little for open ones, and records the rest as unfinished.
void FinishAsync() {
  const uint32_t word = record::SessionWord();
  if (word == 0) return;
  for (int wait = 0; wait < kMaxWaits; wait++) {
    bool open = false;
    for (AsyncRange& slot : g_observer.async) {
      open = open || (slot.range.load(std::memory_order_acquire) != nullptr && slot.word == word);
    }
    if (!open) return;
    timespec pause = {0, kWaitNs};
    nanosleep(&pause, nullptr);
  }
  for (AsyncRange& slot : g_observer.async) {
    const TorchRange* range = slot.range.load(std::memory_order_acquire);
    if (range == nullptr || range == Claimed() || slot.word != word) continue;
    if (!slot.range.compare_exchange_strong(range, Claimed(), std::memory_order_acquire)) continue;
    EmitUnfinished(word, slot);
    slot.range.store(nullptr, std::memory_order_release);
  }
}

void AddCallbacks(const ObserverOptions& options) {
  g_observer.options = options;
  const Layout& layout = g_observer.config->inputs.layout;
  const bool shapes = options.shapes && layout.inputs && layout.tensor_sizes != 0;
  const bool inputs = shapes || (options.operator_inputs && layout.inputs);
  const TorchSymbols& torch = g_observer.config->torch;
  ObserverCallback callback = MakeCallback(shapes, options.stacks);
  std::memset(callback.scopes, 1, kScopeCount);
  callback.scopes[kScopeUser] = 0;
  callback.needs_inputs = inputs ? 1 : 0;
  g_observer.handles[0] = torch.add_global_callback(callback);
  // User scopes are rare, and works of collectives are among them: their inputs are always wanted.
  std::memset(callback.scopes, 0, kScopeCount);
  callback.scopes[kScopeUser] = 1;
  callback.needs_inputs = layout.inputs ? 1 : 0;
  g_observer.handles[1] = torch.add_global_callback(callback);
}

void RemoveCallbacks() {
  for (uint64_t& handle : g_observer.handles) {
    if (handle != 0) g_observer.config->torch.remove_callback(handle);
    handle = 0;
  }
}

// During a fork no other thread may hold the list of callbacks or torch's lock on it.
void BeforeFork() {
  g_observer.mutex.lock();
  if (g_observer.callback_lock != nullptr) pthread_mutex_lock(g_observer.callback_lock);
}

void AfterForkInChild() {  // the adapter's own mutex: ObserverAfterFork
  if (g_observer.callback_lock != nullptr) pthread_mutex_unlock(g_observer.callback_lock);
}

void AfterFork() {
  AfterForkInChild();
  g_observer.mutex.unlock();
}

}  // namespace

void ObserverInit(const ObserverConfig* config, SelfTestReport* report) {
  g_observer.callback_lock = FindCallbackLock(config->torch);
  const bool found = g_observer.callback_lock != nullptr;
  report->Add("forks with other threads running", found,
              found ? ""
                    : "torch's lock on callbacks was not found; a fork in the moment in which "
                      "another thread takes it may leave a child that waits");
  pthread_atfork(BeforeFork, AfterFork, AfterForkInChild);
  g_observer.config = config;
}

void ObserverStart(const ObserverOptions& options) {
  const std::lock_guard lock(g_observer.mutex);
  RemoveCallbacks();
  AddCallbacks(options);
}

void ObserverSetOperatorInputs(bool wanted) {
  const std::lock_guard lock(g_observer.mutex);
  if (g_observer.handles[0] == 0 || g_observer.options.operator_inputs == wanted) return;
  ObserverOptions options = g_observer.options;
  options.operator_inputs = wanted;
  RemoveCallbacks();
  AddCallbacks(options);
}

void ObserverStop() {
  FinishAsync();
  ThreadState* state = t_state;
  const uint32_t word = record::SessionWord();
  if (state != nullptr && word != 0) CloseScopesEndedElsewhere(state, word);
  const std::lock_guard lock(g_observer.mutex);
  RemoveCallbacks();
}

// The mutex is held by the thread that forked.
void ObserverAfterFork() { new (&g_observer.mutex) std::mutex(); }

uint32_t KernelBegin(uint32_t name, uint32_t args) {
  const uint32_t word = record::SessionWord();
  if ((word & SONDE_FEATURE_OPS) == 0) return 0;
  ThreadState* state = GetThreadState();
  uint32_t link = 0;
  if (state != nullptr) {
    const bool whole = (word & SONDE_FEATURE_STACKS) != 0;
    link = whole ? state->stacks.Capture() : state->stacks.CaptureCallSite();
  }
  return record::PushOpen(word, RecordKind::kOp, 0, name, args, link, -1) ? word : 0;
}

void KernelEnd(uint32_t begun) {
  if (begun != 0) record::PopOpen(begun, kObserverKinds);
}

ObserverCounts ObserverGetCounts() {
  return {g_observer.async_dropped.load(std::memory_order_relaxed),
          g_observer.misnested.load(std::memory_order_relaxed)};
}

}  // namespace sonde::adapt

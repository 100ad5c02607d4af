// The C interface of the recorder (sonde/sonde.h): thin, one call each.
#include <errno.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "record/error.h"
#include "record/fast_path.h"
#include "record/recorder.h"
#include "record/schedule.h"
#include "sonde/sonde.h"

namespace {

using sonde::capture::RecordKind;
using sonde::record::Dictionary;
using sonde::record::EmitInstant;
using sonde::record::Fail;
using sonde::record::Recorder;
using sonde::record::RingWriter;
using sonde::record::SessionConfig;
using sonde::record::SessionWord;

Dictionary& TheDictionary() { return Recorder::Get().dictionary(); }

// The session word when ranges and marks of users in this domain are recorded, else 0.
inline uint32_t MarkerWord(sonde_domain domain) {
  const uint32_t word = SessionWord();
  if (word == 0 || (word & SONDE_FEATURE_MARKERS) == 0) return 0;
  return sonde::record::IsDomainRecorded(domain) ? word : 0;
}

// To be called after the session's word was read: a record under it has a name of it, or none.
inline sonde_name NameOnce(const char* text, size_t length) {
  if (text == nullptr) return 0;
  Recorder::Get().OpenPendingChild();
  return TheDictionary().NameOnce({text, length});
}

inline void PushUser(uint32_t word, sonde_name name, sonde_domain domain, sonde_args args,
                     sonde_stack stack) {
  if (word == 0 || (word & SONDE_FEATURE_MARKERS) == 0) return;
  // A range that is filtered out still takes its place, for the pop that belongs to it.
  const RecordKind kind =
      sonde::record::IsDomainRecorded(domain) ? RecordKind::kRange : RecordKind::kNone;
  sonde::record::PushOpen(word, kind, domain, name, args, stack, -1);
}

// Unique in the process: number of the thread, then a count of its own. 0: not recording.
inline uint64_t NextId(uint32_t word) {
  RingWriter* ring = sonde::record::Enter(word, true);
  if (ring == nullptr) return 0;
  const uint64_t id = (uint64_t{ring->thread_index} << 40) | ++ring->next_id;
  sonde::record::Leave(ring);
  return id;
}

inline void EmitSpan(uint32_t word, RecordKind kind, sonde_domain domain, sonde_name name,
                     sonde_args args, uint64_t id) {
  EmitInstant(word, kind, domain, name, args, static_cast<uint32_t>(id),
              static_cast<int32_t>(id >> 32));
}

inline uint64_t StartSpan(uint32_t word, sonde_name name, sonde_domain domain, sonde_args args) {
  const uint64_t id = NextId(word);
  if (id != 0) EmitSpan(word, RecordKind::kSpanBegin, domain, name, args, id);
  return id;
}

inline void EmitFlow(RecordKind kind, sonde_name name, uint64_t id) {
  const uint32_t word = SessionWord();
  if (word == 0 || id == 0) return;
  EmitInstant(word, kind, 0, name, static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32), -1);
}

// Older callers pass shorter structs.
template <typename T>
int CheckStruct(const T* value) {
  if (value != nullptr && value->struct_size < sizeof(uint32_t)) {
    return Fail(EINVAL, "struct_size of the argument is not set");
  }
  return 0;
}

void CopyText(const std::string& text, char* out, size_t size) {
  if (out != nullptr && size > 0) snprintf(out, size, "%s", text.c_str());
}

}  // namespace

extern "C" {

sonde_name sonde_intern(const char* text, size_t length) {
  return text == nullptr ? 0 : TheDictionary().Name({text, length});
}

sonde_name sonde_name_once(const char* text, size_t length) { return NameOnce(text, length); }

sonde_domain sonde_domain_create(const char* name) {
  return name == nullptr ? 0 : TheDictionary().Domain(name);
}

sonde_frame sonde_frame_intern(sonde_name function, sonde_name file, uint32_t line) {
  return TheDictionary().Frame(function, file, line);
}

sonde_stack sonde_stack_intern(const sonde_frame* frames, size_t count) {
  return TheDictionary().Stack(frames, count);
}

void sonde_range_push(sonde_name name, sonde_domain domain) {
  PushUser(SessionWord(), name, domain, 0, 0);
}

void sonde_range_push_args(sonde_name name, sonde_domain domain, sonde_args args) {
  PushUser(SessionWord(), name, domain, args, 0);
}

void sonde_range_push_stack(sonde_name name, sonde_domain domain, sonde_args args,
                            sonde_stack stack) {
  PushUser(SessionWord(), name, domain, args, stack);
}

void sonde_range_push_text(const char* text, size_t length, sonde_domain domain) {
  const uint32_t word = SessionWord();
  if (word == 0 || (word & SONDE_FEATURE_MARKERS) == 0) return;
  PushUser(word, NameOnce(text, length), domain, 0, 0);
}

void sonde_range_pop(void) {
  const uint32_t word = SessionWord();
  if (word == 0 || (word & SONDE_FEATURE_MARKERS) == 0) return;
  sonde::record::PopOpen(word, sonde::record::kUserKinds);
}

uint64_t sonde_range_start(sonde_name name, sonde_domain domain, sonde_args args) {
  const uint32_t word = MarkerWord(domain);
  return word == 0 ? 0 : StartSpan(word, name, domain, args);
}

uint64_t sonde_range_start_text(const char* text, size_t length, sonde_domain domain) {
  const uint32_t word = MarkerWord(domain);
  return word == 0 ? 0 : StartSpan(word, NameOnce(text, length), domain, 0);
}

void sonde_range_end(uint64_t id) {
  const uint32_t word = SessionWord();
  if (word != 0 && id != 0) EmitSpan(word, RecordKind::kSpanEnd, 0, 0, 0, id);
}

void sonde_mark(sonde_name name, sonde_domain domain, sonde_args args) {
  const uint32_t word = MarkerWord(domain);
  if (word != 0) EmitInstant(word, RecordKind::kMark, domain, name, args, 0, -1);
}

void sonde_mark_text(const char* text, size_t length, sonde_domain domain) {
  const uint32_t word = MarkerWord(domain);
  if (word == 0) return;
  EmitInstant(word, RecordKind::kMark, domain, NameOnce(text, length), 0, 0, -1);
}

void sonde_counter(sonde_name name, sonde_domain domain, double value) {
  const uint32_t word = MarkerWord(domain);
  if (word == 0) return;
  const auto bits = std::bit_cast<uint64_t>(value);
  EmitInstant(word, RecordKind::kCounter, domain, name, static_cast<uint32_t>(bits),
              static_cast<uint32_t>(bits >> 32), -1);
}

uint64_t sonde_flow_id(void) {
  const uint32_t word = SessionWord();
  return word == 0 ? 0 : NextId(word);
}

void sonde_flow_out(sonde_name name, uint64_t id) { EmitFlow(RecordKind::kFlowOut, name, id); }
void sonde_flow_in(sonde_name name, uint64_t id) { EmitFlow(RecordKind::kFlowIn, name, id); }

void sonde_memory(const sonde_memory_event* event) {
  const uint32_t word = SessionWord();
  if (word != 0 && (word & SONDE_FEATURE_MEMORY) != 0) sonde::record::EmitMemory(word, *event);
}

void sonde_thread_name(const char* name) {
  if (name != nullptr) Recorder::Get().NameThread(name);
}

void sonde_thread_number(uint32_t number) { Recorder::Get().NumberThread(number); }

int sonde_metadata(const char* key, const char* json_value) {
  if (key == nullptr || json_value == nullptr || key[0] == '\0') {
    return Fail(EINVAL, "metadata needs a key and a JSON value");
  }
  TheDictionary().SetMetadata(key, json_value);
  return 0;
}

void sonde_report_issue(const char* text) {
  if (text != nullptr) TheDictionary().AddIssue(text);
}

int sonde_session_prepare(const sonde_session_config* config) {
  if (const int bad = CheckStruct(config); bad != 0) return bad;
  const SessionConfig settings = SessionConfig::FromC(config);
  return Recorder::Get().Prepare(&settings);
}

int sonde_session_start(const sonde_session_config* config) {
  if (const int bad = CheckStruct(config); bad != 0) return bad;
  if (config == nullptr) return Recorder::Get().Start(nullptr);
  const SessionConfig settings = SessionConfig::FromC(config);
  return Recorder::Get().Start(&settings);
}

int sonde_session_stop(char* path, size_t path_size) {
  std::string folder;
  const int result = Recorder::Get().Stop(&folder);
  CopyText(folder, path, path_size);
  return result;
}

int sonde_session_discard(void) { return Recorder::Get().Discard(); }

int sonde_session_get_status(sonde_session_status* status) {
  if (status == nullptr || status->struct_size < sizeof(uint32_t)) {
    return Fail(EINVAL, "struct_size of the argument is not set");
  }
  sonde_session_status full{};
  const uint32_t size = std::min<uint32_t>(status->struct_size, sizeof(full));
  Recorder::Get().GetStatus(&full);
  full.struct_size = size;
  std::memcpy(status, &full, size);
  return 0;
}

const char* sonde_session_path(void) {
  static thread_local std::string path;
  path = Recorder::Get().Path();
  return path.c_str();
}

void sonde_step(int64_t number) { Recorder::Get().Step(number); }

void sonde_processor_use(void) { Recorder::Get().RecordProcessorUse(); }

int sonde_schedule_action(const sonde_schedule* schedule, int64_t step) {
  const int action = sonde::record::ScheduleAction(*schedule, step);
  return action >= 0 ? action : Fail(EINVAL, "the step or a field of the schedule is impossible");
}

uint64_t sonde_schedule_transition(int previous, int current, int* warning) {
  const sonde::record::Transition transition = sonde::record::ScheduleTransition(previous, current);
  if (warning != nullptr) *warning = transition.warning;
  return transition.operations;
}

int sonde_control_listen(const char* address, const sonde_session_config* defaults) {
  if (const int bad = CheckStruct(defaults); bad != 0) return bad;
  return Recorder::Get().control().Listen(address, SessionConfig::FromC(defaults));
}

int sonde_control_address(char* address, size_t size) {
  const std::string text = Recorder::Get().control().Address();
  if (text.empty()) return Fail(ENOTCONN, "there is no control address");
  CopyText(text, address, size);
  return 0;
}

int sonde_dynamic_watch(const char* folder, const sonde_session_config* defaults) {
  if (const int bad = CheckStruct(defaults); bad != 0) return bad;
  return Recorder::Get().control().Watch(folder, SessionConfig::FromC(defaults));
}

void sonde_dynamic_step(int64_t number) { Recorder::Get().control().dynamic().OnStep(number); }

int sonde_control_route(const char* path, sonde_control_function function, void* user) {
  if (path == nullptr || path[0] != '/') return Fail(EINVAL, "a route begins with '/'");
  Recorder::Get().control().SetRoute(path, {.function = function, .user = user});
  return 0;
}

void sonde_control_close(void) { Recorder::Get().control().Close(); }

int sonde_add_listener(sonde_listener listener, void* data) {
  return listener == nullptr ? Fail(EINVAL, "no listener given")
                             : Recorder::Get().AddListener(listener, data, true);
}

int sonde_add_session_listener(sonde_listener listener, void* data) {
  return listener == nullptr ? Fail(EINVAL, "no listener given")
                             : Recorder::Get().AddListener(listener, data, false);
}

uint32_t sonde_keep_last_seconds(void) { return Recorder::Get().KeepLastSeconds(); }

const char* sonde_last_error(void) { return sonde::record::LastError(); }
const char* sonde_version(void) { return SONDE_VERSION; }

}  // extern "C"

namespace {

// Threads may record until the process is gone; only the session ends here.
__attribute__((destructor)) void StopSessionAtExit() {
  if (Recorder::IsMade()) Recorder::Get().StopAtExit();
}

}  // namespace

/* Sonde recorder: C interface, stable across releases. C++ users include <sonde/sonde.hpp>.
 *
 * Link with libsonde_record.so, or open it at run time. Nothing is recorded until a session is
 * started (by sonde_session_start, by POST /start_profile on the control address, by a changed
 * control file, or by environment variables); until then a call costs one load and one branch.
 *
 * Hot path (push, pop, mark, counter): no allocation, lock or system call; each thread writes to
 * its own ring buffer, a drain thread writes to disk. When a ring is full, records are dropped and
 * counted, and the count is part of the capture. Times are taken inside the calls.
 *
 * Threads: every function may be called from any thread, except where stated otherwise.
 * Errors: functions of the hot path cannot fail. Others return 0 for success or a negative errno
 * value; sonde_last_error() then gives one line for people. Nothing here ends the process.
 * Strings are UTF-8 with explicit length, or NUL-terminated where no length is given.
 */
#ifndef SONDE_SONDE_H_
#define SONDE_SONDE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SONDE_API __attribute__((visibility("default")))
#else
#define SONDE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t sonde_name;   /* interned text; 0 = none. Valid for the life of the process. */
typedef uint32_t sonde_args;   /* interned argument set; 0 = none */
typedef uint32_t sonde_domain; /* 0 = "default", at most 255 */
typedef uint32_t sonde_frame;  /* interned source position; 0 = none */
typedef uint32_t sonde_stack;  /* interned call stack; 0 = none */

/* The features that are being recorded; 0 = none. Read by the inline check below, never written. */
enum {
  SONDE_FEATURE_RECORDING = 1u << 0,
  SONDE_FEATURE_SHAPES = 1u << 1,
  SONDE_FEATURE_STACKS = 1u << 2,
  SONDE_FEATURE_MEMORY = 1u << 3,
  SONDE_FEATURE_MODULES = 1u << 4,
  SONDE_FEATURE_OPS = 1u << 5,    /* operators of the framework ("CPU activity") */
  SONDE_FEATURE_MARKERS = 1u << 6 /* ranges and marks of the user (mstx) */
};
/* Bits 0..15: features; bits 16..31 distinguish one session from the next. The whole word is 0 when
 * nothing is recorded. */
extern SONDE_API uint32_t sonde_features_;

static inline uint32_t sonde_features(void) {
  return __atomic_load_n(&sonde_features_, __ATOMIC_RELAXED) & 0xffffu;
}
static inline int sonde_recording(void) {
  return __atomic_load_n(&sonde_features_, __ATOMIC_RELAXED) != 0;
}

/* ---- Names, domains, arguments (slow path once per distinct text; keep the id) ---- */
SONDE_API sonde_name sonde_intern(const char* text, size_t length);
/* For texts that differ each time: not kept in memory, nor in later captures. The id is good for
 * the running session only, 0 without one; the _text functions below take such a text at once. */
SONDE_API sonde_name sonde_name_once(const char* text, size_t length);
SONDE_API sonde_domain sonde_domain_create(const char* name);

/* Builds an argument set from typed values and returns its id. Sets with equal content share one
 * id. The builder is on the caller's stack; it holds up to SONDE_ARGS_CAPACITY bytes and leaves
 * out fields that do not fit (counted). */
#define SONDE_ARGS_CAPACITY 2048
typedef struct {
  uint32_t size;
  uint32_t overflowed;
  unsigned char bytes[SONDE_ARGS_CAPACITY];
} sonde_args_builder;
SONDE_API void sonde_args_init(sonde_args_builder* builder);
SONDE_API void sonde_args_int(sonde_args_builder* builder, sonde_name key, int64_t value);
SONDE_API void sonde_args_double(sonde_args_builder* builder, sonde_name key, double value);
SONDE_API void sonde_args_text(sonde_args_builder* builder, sonde_name key, const char* text,
                               size_t length);
SONDE_API void sonde_args_ints(sonde_args_builder* builder, sonde_name key, const int64_t* values,
                               size_t count);
/* A field already encoded as in src/capture/args.h; type is its ArgType. */
SONDE_API void sonde_args_field(sonde_args_builder* builder, sonde_name key, uint16_t type,
                                const void* bytes, size_t length);
SONDE_API sonde_args sonde_args_intern(const sonde_args_builder* builder);
/* As sonde_name_once, for a set that belongs to one record (a request of a server). */
SONDE_API sonde_args sonde_args_once(const sonde_args_builder* builder);
SONDE_API sonde_frame sonde_frame_intern(sonde_name function, sonde_name file, uint32_t line);
/* frames: innermost first. */
SONDE_API sonde_stack sonde_stack_intern(const sonde_frame* frames, size_t count);

/* ---- Recording ---- */
/* Ranges that nest on the calling thread. A pop without a push is ignored and counted. */
SONDE_API void sonde_range_push(sonde_name name, sonde_domain domain);
SONDE_API void sonde_range_push_args(sonde_name name, sonde_domain domain, sonde_args args);
SONDE_API void sonde_range_push_stack(sonde_name name, sonde_domain domain, sonde_args args,
                                      sonde_stack stack);
SONDE_API void sonde_range_push_text(const char* text, size_t length, sonde_domain domain);
SONDE_API void sonde_range_pop(void);

/* Ranges whose end may be on another thread. The id is unique in the process; 0 when the start was
 * not recorded, and ending 0 does nothing. */
SONDE_API uint64_t sonde_range_start(sonde_name name, sonde_domain domain, sonde_args args);
SONDE_API uint64_t sonde_range_start_text(const char* text, size_t length, sonde_domain domain);
SONDE_API void sonde_range_end(uint64_t id);

SONDE_API void sonde_mark(sonde_name name, sonde_domain domain, sonde_args args);
SONDE_API void sonde_mark_text(const char* text, size_t length, sonde_domain domain);
SONDE_API void sonde_counter(sonde_name name, sonde_domain domain, double value);

/* Ties the range open now on this thread (out) to one open on another thread (in). An id is 0 while
 * nothing is recorded, and 0 is ignored. */
SONDE_API uint64_t sonde_flow_id(void);
SONDE_API void sonde_flow_out(sonde_name name, uint64_t id);
SONDE_API void sonde_flow_in(sonde_name name, uint64_t id);

/* An allocation (size > 0) or release (size < 0) as the allocator reports it. Totals in bytes
 * after the event, -1 where unknown. device_type: 0 CPU, 1 CUDA, 20 NPU (torch's codes). */
typedef struct {
  uint64_t pointer;
  int64_t size_bytes;
  int64_t total_allocated;
  int64_t total_reserved;
  int64_t total_active;
  uint64_t stream;
  uint8_t device_type;
  uint8_t device_index;
} sonde_memory_event;
SONDE_API void sonde_memory(const sonde_memory_event* event);

/* ---- Names of threads, facts about the process ---- */
SONDE_API void sonde_thread_name(const char* name);
/* Number by which a framework knows the calling thread (torch's forward thread ids). */
SONDE_API void sonde_thread_number(uint32_t number);
/* value: JSON text. Kept for the process: also written into sessions that start later. */
SONDE_API int sonde_metadata(const char* key, const char* json_value);
/* A problem that readers of the capture should know of ("adapter self-test failed: ..."). */
SONDE_API void sonde_report_issue(const char* text);

/* ---- Sessions: one capture each, any number one after another, one at a time ---- */
typedef struct {
  uint32_t struct_size;       /* sizeof(sonde_session_config) */
  uint32_t features;          /* SONDE_FEATURE_...; 0 = RECORDING | OPS | MARKERS */
  const char* directory;      /* parent folder; NULL: $SONDE_SAVE_PATH, else "." */
  const char* worker_name;    /* first part of the folder name; NULL: host name */
  const char* folder;         /* whole folder name instead; NULL: <worker>_<pid>_<time><suffix> */
  const char* domain_include; /* comma separated; NULL or "": all */
  const char* domain_exclude; /* ignored where domain_include is given */
  uint32_t ring_slots;        /* per thread, rounded to a power of two; 0: default */
  uint32_t keep_last_seconds; /* 0: keep everything */
  uint64_t max_bytes;         /* stop with a message beyond it; 0: no limit */
  const char* options;        /* JSON object for listeners, also metadata "options"; NULL: none */
  /* Last part of the folder name; NULL: "_ascend_pt". With "_ascend_ms", MindSpore's, the time in
     it is UTC, as MindSpore has it. */
  const char* span_suffix;
} sonde_session_config;
SONDE_API int sonde_session_prepare(const sonde_session_config* config); /* warm-up: files, rings */
SONDE_API int sonde_session_start(const sonde_session_config* config);   /* prepares if needed */
/* Returns when every record made before the call is in the files. Path of the span folder is
 * copied into path (NUL-terminated, truncated to path_size) where path is not NULL. */
SONDE_API int sonde_session_stop(char* path, size_t path_size);
/* After an error ended the session, stop gives the path, the error's errno and its message once. */
SONDE_API int sonde_session_discard(void); /* stop and remove the folder */

typedef struct {
  uint32_t struct_size;
  uint32_t state;          /* 0 idle, 1 prepared, 2 recording, 3 stopped by an error */
  uint64_t session_number; /* sessions started in this process */
  uint64_t records;        /* written to the files of the current or last session */
  uint64_t dropped;
  uint64_t bytes;
  int32_t step; /* last step announced, -1 none */
  uint32_t reserved;
} sonde_session_status;
SONDE_API int sonde_session_get_status(sonde_session_status* status);
SONDE_API const char* sonde_session_path(void); /* of the current or last session; "" none */

/* ---- Steps and schedule ---- */
/* Ends the current step range and opens ProfilerStep#number; -1 only ends it. Below -1 it turns
   out that the current range was no step: nothing of it is recorded. */
SONDE_API void sonde_step(int64_t number);

/* Records what the calling thread and its process have used of the processors so far; sonde_step
   does. Processor time, waiting for a processor and involuntary switches of a step are differences.
 */
SONDE_API void sonde_processor_use(void);

/* Schedule of profiler actions; formulas and transition table as in docs/reference/schedule.md. */
typedef struct {
  int32_t wait, warmup, active, repeat, skip_first, skip_first_wait;
} sonde_schedule;
enum {
  SONDE_ACTION_NONE = 0,
  SONDE_ACTION_WARMUP = 1,
  SONDE_ACTION_RECORD = 2,
  SONDE_ACTION_RECORD_AND_SAVE = 3
};
SONDE_API int sonde_schedule_action(const sonde_schedule* schedule, int64_t step);
/* Operations, in order, one per byte from the lowest; 0 ends the list. */
enum {
  SONDE_OP_END = 0,
  SONDE_OP_INIT = 1,
  SONDE_OP_WARMUP = 2,
  SONDE_OP_START = 3,
  SONDE_OP_STOP = 4,
  SONDE_OP_FINALIZE = 5,
  SONDE_OP_TRACE_READY = 6,
  SONDE_OP_DELETE = 7
};
/* warning: 0 none, 1..6 = W1..W6 of the table. current = -1: exit or stop(). */
SONDE_API uint64_t sonde_schedule_transition(int previous, int current, int* warning);

/* ---- Control while the program runs ----
 * Environment, read when the library is loaded: SONDE_RECORD=1 records from load to exit,
 * SONDE_CONTROL=<address> listens, SONDE_CONFIG_PATH=<folder> watches; SONDE_RANKS=0,3 limits the
 * first to these values of $RANK. Settings: SONDE_SAVE_PATH, SONDE_KEEP_LAST_SECONDS,
 * SONDE_MAX_BYTES, SONDE_RING_SLOTS. Where SONDE_ATTACH is set (sonde run), they are left to the
 * start-up hook that loads the library. */
/* address: "http://127.0.0.1:PORT" (0: any free port), "unix:/path/socket". Serves
 * POST /start_profile, POST /stop_profile, GET /status. A config of NULL fields is the default. */
SONDE_API int sonde_control_listen(const char* address, const sonde_session_config* defaults);
SONDE_API int sonde_control_address(char* address, size_t size); /* the address in use */
/* Adds POST <path> ("/dump") to the served routes. `function` runs on the control thread with
 * the request's body, writes a JSON text with its end into `answer` (size bytes) and returns the
 * HTTP status. A function of NULL takes the path away. `user` must live as long. */
typedef int (*sonde_control_function)(const char* body, char* answer, size_t size, void* user);
SONDE_API int sonde_control_route(const char* path, sonde_control_function function, void* user);
/* Watches <folder>/profiler_config.json, made with defaults when absent ("dynamic profiling"): each
 * change of the file may ask for a profile of warmup + active steps from start_step on (-1: the
 * next one). Needs sonde_dynamic_step at the begin of each step; number < 0: one more than the
 * last. */
SONDE_API int sonde_dynamic_watch(const char* folder, const sonde_session_config* defaults);
SONDE_API void sonde_dynamic_step(int64_t number);
/* Ends address and watching. None of these from a listener. */
SONDE_API void sonde_control_close(void);

/* ---- For adapters ---- */
typedef enum {
  SONDE_EVENT_PREPARE = 1,
  SONDE_EVENT_START = 2,
  SONDE_EVENT_STOP = 3,
  SONDE_EVENT_FORK_CHILD = 4
} sonde_event;
/* Called on the thread that starts or stops, START before the first record may be made, STOP
 * before the last drain. At most 16 listeners; they stay for the life of the process. */
typedef void (*sonde_listener)(sonde_event event, const sonde_session_config* config, void* data);
SONDE_API int sonde_add_listener(sonde_listener listener, void* data);
/* The same without SONDE_EVENT_FORK_CHILD, which comes inside fork(): for listeners that enter an
 * interpreter, where the child would wait for ever for a lock of a thread it does not have. */
SONDE_API int sonde_add_session_listener(sonde_listener listener, void* data);
/* For those that come while a session records, whose START they missed: the keep_last_seconds of
 * its configuration; 0 also where there is no session. */
SONDE_API uint32_t sonde_keep_last_seconds(void);

SONDE_API const char* sonde_last_error(void); /* of the calling thread; "" none */
SONDE_API const char* sonde_version(void);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_SONDE_H_ */

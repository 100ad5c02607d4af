// The tables of the trace store, each declared once: columns, types, units, meaning, origin.
//
// Everything else comes from these lists: the row structs and writers (table_writer.h), the DuckDB
// tables and public views (schema.h), `sonde query --schema` and docs/reference/store.md.
// A column is C(name, Type, "unit", "meaning", "switch that fills it"). Types:
//   Int16 Int32 Int64 Double   plain numbers
//   Text     VARCHAR; for small tables only
//   Ref      Int32 id of a row elsewhere; -1 inside, NULL in the view
//   Opt      Int64; -1 inside, NULL in the view: unknown
//   Name     Int32 id of a row of `name_`; -1 (none) is NULL; the view gives the text
//   Lookup   Int32 id of a row of a lookup table; the unit is "table(columns)" or "table(*)"; the
//            view keeps the id and adds those columns of that table's view
// Where the public view differs from the numbers, these are called `<name>_`.
// Times are integer nanoseconds of the Unix epoch, `dur` -1 where unfinished.
// Order of `slice_`: (track_id, depth, ts), and slice_id counts in that order, so that a lane is
// one range of ids and a parent has a smaller id than its children.
#pragma once

#include "store/communication_columns.h"
#include "store/processor_columns.h"

#define SONDE_COLUMNS_NAME(C)                                                    \
  C(name_id, Int32, "", "number of the text in columns of this store", "always") \
  C(name, Text, "", "the text", "always")

#define SONDE_COLUMNS_PROCESS(C)                                            \
  C(process_id, Int32, "", "number of the process in this store", "always") \
  C(pid, Int64, "", "number the operating system gave", "always")           \
  C(name, Name, "", "command line or label", "always")                      \
  C(rank, Ref, "", "global rank", "distributed program")                    \
  C(host, Name, "", "host name", "always")                                  \
  C(parent_pid, Opt, "", "pid of the parent", "always")

#define SONDE_COLUMNS_THREAD(C)                                           \
  C(thread_id, Int32, "", "number of the thread in this store", "always") \
  C(tid, Int64, "", "number the operating system gave", "always")         \
  C(process_id, Ref, "", "its process", "always")                         \
  C(name, Name, "", "name of the thread", "always")                       \
  C(framework_number, Int32, "", "the framework's own thread number, 0 none", "cpu activity")

#define SONDE_COLUMNS_TRACK(C)                                              \
  C(track_id, Int32, "", "a row of the timeline with its lanes", "always")  \
  C(kind, Name, "", "thread, stream, counter, ...: see kinds.md", "always") \
  C(name, Name, "", "label", "always")                                      \
  C(process_id, Ref, "", "its process", "always")                           \
  C(thread_id, Ref, "", "its thread, where it has one", "always")           \
  C(device_id, Ref, "", "its device, where it has one", "always")           \
  C(stream_id, Ref, "", "its stream, where it has one", "always")           \
  C(sort_index, Int32, "", "order among the tracks of a process", "always")

#define SONDE_COLUMNS_SLICE(C)                                                        \
  C(slice_id, Int32, "", "number in the order (track_id, depth, ts)", "always")       \
  C(ts, Int64, "ns", "begin", "always")                                               \
  C(dur, Int64, "ns", "duration; -1: had not ended when recording ended", "always")   \
  C(track_id, Int32, "", "its track", "always")                                       \
  C(name, Name, "", "what ran", "always")                                             \
  C(category, Name, "",                                                               \
    "cpu_op, user_annotation, module, python_function, gc, range, span, collective, " \
    "kernel, ...",                                                                    \
    "always")                                                                         \
  C(depth, Int32, "", "0 outermost; lane within the track", "always")                 \
  C(parent_id, Ref, "", "slice that encloses it on the same track", "always")         \
  C(args_id, Ref, "", "its argument set", "always")

#define SONDE_COLUMNS_ARGS_INT(C)                    \
  C(args_id, Int32, "", "argument set", "always")    \
  C(key, Name, "", "name of the argument", "always") \
  C(value, Int64, "", "its value", "always")

#define SONDE_COLUMNS_ARGS_DOUBLE(C)                 \
  C(args_id, Int32, "", "argument set", "always")    \
  C(key, Name, "", "name of the argument", "always") \
  C(value, Double, "", "its value", "always")

#define SONDE_COLUMNS_ARGS_TEXT(C)                                                  \
  C(args_id, Int32, "", "argument set", "always")                                   \
  C(key, Name, "", "name of the argument", "always")                                \
  C(form, Int16, "", "0 text, 1 JSON, 2 a number kept as it was written", "always") \
  C(value, Name, "", "its value", "always")

#define SONDE_COLUMNS_ARGS_SHARED(C)              \
  C(args_id, Int32, "", "argument set", "always") \
  C(shared_id, Int32, "", "number, below 0, of the part that it shares", "always")

#define SONDE_COLUMNS_FRAMEWORK_OP(C)                                                          \
  C(slice_id, Int32, "", "its slice", "always")                                                \
  C(scope, Int16, "", "0 op, 1 backward, 4 module, 8 step, ...: see kinds.md", "cpu activity") \
  C(sequence_number, Opt, "", "autograd's number, equal forward and backward", "cpu activity") \
  C(forward_thread_id, Ref, "", "thread of the forward op (backward only)", "cpu activity")    \
  C(stack_id, Ref, "", "call stack, table callstack", "with_stack")                            \
  C(module, Name, "", "path of the innermost module open on the thread", "with_modules")       \
  C(signature_id, Lookup, "op_signature(*)", "shapes and types of the inputs", "record_shapes")

#define SONDE_COLUMNS_OP_SIGNATURE(C)                                                           \
  C(signature_id, Int32, "", "number of the signature", "record_shapes")                        \
  C(input_shapes, Name, "", "sizes with ',' between dimensions, ';' between inputs",            \
    "record_shapes")                                                                            \
  C(input_types, Name, "", "types, ';' between inputs; C++ names for tensors", "record_shapes") \
  C(input_dims, Name, "", "sizes as nested JSON lists, lists of tensors kept", "record_shapes")

#define SONDE_COLUMNS_CALLSTACK(C)                   \
  C(stack_id, Int32, "", "call stack", "with_stack") \
  C(depth, Int32, "", "0 innermost", "with_stack")   \
  C(frame, Name, "", "file(line): function", "with_stack")

#define SONDE_COLUMNS_FLOW(C)                                                                    \
  C(flow_id, Int32, "", "number of the flow", "always")                                          \
  C(kind, Name, "", "forward_backward, host_to_device, enqueue_dequeue, span or user", "always") \
  C(key, Int64, "", "number that ties both ends, in the recording", "always")                    \
  C(slice_out, Ref, "", "slice where it begins", "always")                                       \
  C(slice_in, Ref, "", "slice where it ends", "always")

#define SONDE_COLUMNS_COUNTER(C)                \
  C(ts, Int64, "ns", "moment", "always")        \
  C(track_id, Int32, "", "its track", "always") \
  C(value, Double, "", "value from then on", "always")

#define SONDE_COLUMNS_DEVICE_TASK(C)                                                           \
  C(task_id, Int32, "", "number of the task, in the order of start", "cpu activity or device") \
  C(slice_id, Ref, "", "its slice; where the CPU is the device, that of the op", "always")     \
  C(track_id, Lookup, "track(process_id,device_id,stream_id)", "its stream", "always")         \
  C(ts, Int64, "ns", "begin", "always")                                                        \
  C(dur, Int64, "ns", "duration", "always")                                                    \
  C(wait_ns, Int64, "ns", "idle time of the device before it, over all streams", "always")     \
  C(kind_id, Lookup, "task_kind(*)", "name, type and shapes", "always")                        \
  C(launch_slice_id, Ref, "", "framework op that launched it", "cpu activity")                 \
  C(connection_id, Opt, "", "number that ties it to the host call", "level1")                  \
  C(step_id, Opt, "", "number of the step in which it starts", "steps")                        \
  C(queue_number, Opt, "", "number that the device's queue gave it", "level1")

#define SONDE_COLUMNS_TASK_KIND(C)                                                               \
  C(kind_id, Int32, "", "number of the kind", "always")                                          \
  C(name, Name, "", "kernel or operator", "always")                                              \
  C(op_type, Name, "", "operator type", "level1")                                                \
  C(core, Name, "",                                                                              \
    "AI_CORE, AI_VECTOR_CORE, MIX_AIC, AI_CPU, CPU, ...; NULL: no kernel (event, copy, notify)", \
    "level1")                                                                                    \
  C(task_type, Name, "", "type of the task in the device's queue", "level1")                     \
  C(block_num, Opt, "", "cores used", "level1")                                                  \
  C(mix_block_num, Opt, "", "cores of the secondary kind", "level1")                             \
  C(input_shapes, Name, "", "sizes, ',' and ';'", "level1")                                      \
  C(input_types, Name, "", "data types, ';'", "level1")                                          \
  C(input_formats, Name, "", "memory formats, ';'", "level1")                                    \
  C(output_shapes, Name, "", "sizes, ',' and ';'", "level1")                                     \
  C(output_types, Name, "", "data types, ';'", "level1")                                         \
  C(output_formats, Name, "", "memory formats, ';'", "level1")                                   \
  C(model_id, Opt, "", "graph that the task belongs to", "level1")                               \
  C(context_id, Opt, "", "context of the task", "level1")                                        \
  C(op_state, Name, "", "dynamic or static", "level1")                                           \
  C(hf32, Name, "", "YES or NO: may use HF32", "level1")

#define SONDE_COLUMNS_DEVICE_TASK_PMU(C)                             \
  C(task_id, Int32, "", "its task", "aic_metrics")                   \
  C(metric, Name, "", "column of kernel_details.csv", "aic_metrics") \
  C(value, Double, "", "value in the unit that its name gives", "aic_metrics")

#define SONDE_COLUMNS_MEMORY_EVENT(C)                                                        \
  C(ts, Int64, "ns", "moment", "profile_memory")                                             \
  C(process_id, Ref, "", "its process", "profile_memory")                                    \
  C(device_type, Int16, "", "0 CPU, 1 CUDA, 20 NPU", "profile_memory")                       \
  C(device_index, Int16, "", "number of the device", "profile_memory")                       \
  C(pointer, Int64, "", "address, the bits of an unsigned number", "profile_memory")         \
  C(size_bytes, Int64, "bytes", "allocated; negative: freed", "profile_memory")              \
  C(total_allocated, Opt, "bytes", "after the event", "profile_memory")                      \
  C(total_reserved, Opt, "bytes", "after the event", "profile_memory")                       \
  C(total_active, Opt, "bytes", "after the event", "profile_memory")                         \
  C(stream, Int64, "", "stream of the allocator, 0 none", "profile_memory")                  \
  C(thread_id, Ref, "", "thread that asked", "profile_memory")                               \
  C(owner_slice_id, Ref, "", "innermost framework op open on that thread", "profile_memory") \
  C(component, Name, "", "PTA (framework), GE, WORKSPACE, APP; NULL: framework", "profile_memory")

#define SONDE_COLUMNS_MEMORY_BLOCK(C)                                                    \
  C(process_id, Ref, "", "its process", "profile_memory")                                \
  C(device_type, Int16, "", "0 CPU, 1 CUDA, 20 NPU", "profile_memory")                   \
  C(device_index, Int16, "", "number of the device", "profile_memory")                   \
  C(pointer, Int64, "", "address, the bits of an unsigned number", "profile_memory")     \
  C(size_bytes, Int64, "bytes", "size", "profile_memory")                                \
  C(alloc_ts, Opt, "ns", "allocated; NULL: before recording began", "profile_memory")    \
  C(free_ts, Opt, "ns", "freed; NULL: alive when recording ended", "profile_memory")     \
  C(owner_slice_id, Ref, "", "framework op that allocated it", "profile_memory")         \
  C(alloc_total_allocated, Opt, "bytes", "total after the allocation", "profile_memory") \
  C(alloc_total_reserved, Opt, "bytes", "total after the allocation", "profile_memory")  \
  C(alloc_total_active, Opt, "bytes", "total after the allocation", "profile_memory")    \
  C(free_total_allocated, Opt, "bytes", "total after the release", "profile_memory")     \
  C(free_total_reserved, Opt, "bytes", "total after the release", "profile_memory")      \
  C(free_total_active, Opt, "bytes", "total after the release", "profile_memory")        \
  C(stream, Int64, "", "stream of the allocator, 0 none", "profile_memory")              \
  C(active_free_ts, Opt, "ns", "given back after use by its streams", "profile_memory")  \
  C(name, Name, "", "operator that a file names as its owner", "profile_memory")         \
  C(component, Name, "", "PTA (framework), GE; NULL: framework", "profile_memory")

#define SONDE_COLUMNS_STEP(C)                             \
  C(step_id, Int64, "", "number of the step", "steps")    \
  C(rank, Ref, "", "global rank", "steps")                \
  C(process_id, Ref, "", "its process", "steps")          \
  C(slice_id, Ref, "", "its slice", "steps")              \
  C(ts, Int64, "ns", "begin", "steps")                    \
  C(dur, Int64, "ns", "duration; -1 unfinished", "steps") \
  SONDE_COLUMNS_PROCESSOR_USE(C, "steps")

#define SONDE_COLUMNS_MARK(C)                                                          \
  C(mark_id, Int32, "", "number of the mark, in the order of time", "mstx")            \
  C(ts, Int64, "ns", "begin", "mstx")                                                  \
  C(dur, Int64, "ns", "duration; 0 for an instant, -1 unfinished", "mstx")             \
  C(track_id, Ref, "", "its track", "mstx")                                            \
  C(domain, Name, "", "mstx domain; \"default\" where none was given", "mstx")         \
  C(message, Name, "", "text of the mark", "mstx")                                     \
  C(kind, Name, "", "marker, push_pop or start_end", "mstx")                           \
  C(slice_id, Ref, "", "its slice, where it is one", "mstx")                           \
  C(end_thread_id, Ref, "", "thread on which it ended, where that is another", "mstx") \
  C(args_id, Ref, "", "its argument set (instants of trace events)", "mstx")

#define SONDE_COLUMNS_API_CALL(C)                                            \
  C(slice_id, Int32, "", "its slice", "level1")                              \
  C(level, Name, "", "acl, runtime, node, model or communication", "level1") \
  C(connection_id, Opt, "", "number that ties it to device tasks", "level1")

// Requests to servers of language models. Moments are those of the front-end where it was recorded,
// else the engine's.
#define SONDE_COLUMNS_REQUEST(C)                                                                 \
  C(request_id, Int32, "", "number of the request in this store, by arrival", "serving")         \
  C(name, Name, "", "the server's id of it", "serving")                                          \
  C(engine, Int32, "", "number of its engine (data parallel rank)", "serving")                   \
  C(slice_id, Ref, "", "its slice in the front-end", "serving, front-end recorded")              \
  C(ts, Int64, "ns", "arrival: the application sees it", "serving")                              \
  C(loop_lag_ns, Opt, "ns", "its client's wait for the front-end's event loop before that",      \
    "serving")                                                                                   \
  C(dur, Int64, "ns", "to its end; -1: had not ended when recording ended", "serving")           \
  C(tokenized_ts, Opt, "ns", "its prompt was tokenized and passed to the engine", "serving")     \
  C(queued_ts, Opt, "ns", "the engine put it into its queue", "serving")                         \
  C(scheduled_ts, Opt, "ns", "the first engine step that took it began", "serving")              \
  C(first_token_ts, Opt, "ns", "its first token was given to the client", "serving")             \
  C(last_token_ts, Opt, "ns", "its last token so far was given to the client", "serving")        \
  C(delivered_ts, Opt, "ns", "its client's machine had the last byte; NULL: by its end",         \
    "serving, front-end recorded")                                                               \
  C(queue_ns, Opt, "ns", "waiting in the engine's queue: scheduled_ts - queued_ts", "serving")   \
  C(ttft_ns, Opt, "ns", "time to first token: first_token_ts - ts", "serving")                   \
  C(tpot_ns, Opt, "ns", "time per further token: (last_token_ts - first_token_ts) / (n - 1)",    \
    "serving")                                                                                   \
  C(prompt_tokens, Opt, "", "tokens of the prompt", "serving")                                   \
  C(cached_tokens, Opt, "", "of them found in the prefix cache", "serving")                      \
  C(output_tokens, Int32, "", "tokens generated in the recording", "serving")                    \
  C(drafted_tokens, Opt, "", "tokens that a speculator proposed; NULL: none did", "serving")     \
  C(accepted_tokens, Opt, "", "of them that the model accepted", "serving")                      \
  C(max_tokens, Opt, "", "limit of output tokens that it set", "serving, front-end recorded")    \
  C(sampling, Name, "JSON", "temperature, top_p, top_k, n, seed", "serving, front-end recorded") \
  C(lora, Name, "", "its LoRA adapter", "serving, front-end recorded")                           \
  C(traceparent, Name, "", "trace and span of its client", "serving, front-end recorded")        \
  C(x_request_id, Name, "", "that header; long ones are cut", "serving, front-end recorded")     \
  C(preemptions, Int32, "", "times it was put back into the queue", "serving")                   \
  C(finish_reason, Name, "", "stop, length, abort, engine died, refused: 400 ...; NULL: no end", \
    "serving")                                                                                   \
  C(is_whole, Int16, "", "1: arrival and end are in the recording, and it was not cut", "serving")

#define SONDE_COLUMNS_ENGINE_STEP(C)                                                               \
  C(step_id, Int64, "", "number since the server's start; that of the ranks' steps", "serving")    \
  C(engine, Int32, "", "number of the engine (data parallel rank)", "serving")                     \
  C(process_id, Ref, "", "process of the engine", "serving")                                       \
  C(slice_id, Ref, "", "its slice", "serving")                                                     \
  C(ts, Int64, "ns", "begin of choosing the batch", "serving")                                     \
  C(dur, Int64, "ns", "until its output was dealt with; -1 unfinished", "serving")                 \
  C(schedule_ns, Int64, "ns", "of it: choosing the batch", "serving")                              \
  C(update_ns, Opt, "ns", "of it: dealing with the output", "serving")                             \
  C(prefill_requests, Int32, "", "requests whose prompt was computed", "serving")                  \
  C(prefill_tokens, Int32, "", "their tokens", "serving")                                          \
  C(decode_requests, Int32, "", "requests that got a further token", "serving")                    \
  C(decode_tokens, Int32, "", "their tokens", "serving")                                           \
  C(output_tokens, Int32, "", "tokens generated", "serving")                                       \
  C(drafted_tokens, Int32, "", "tokens that a speculator proposed", "serving")                     \
  C(accepted_tokens, Int32, "", "of them that the model accepted", "serving")                      \
  C(running_requests, Int32, "", "being worked on, after choosing", "serving")                     \
  C(waiting_requests, Int32, "", "in the queue, after choosing", "serving")                        \
  C(kv_cache_usage, Double, "", "share of the KV cache in use, 0 to 1, after choosing", "serving") \
  C(preempted_requests, Int32, "", "put back into the queue to make room", "serving")              \
  C(prefix_hit_tokens, Int32, "", "tokens of new prompts that the prefix cache had", "serving")    \
  C(finished_requests, Int32, "", "that ended with its output", "serving")                         \
  SONDE_COLUMNS_PROCESSOR_USE(C, "serving")

#define SONDE_COLUMNS_REQUEST_STEP(C)                               \
  C(request_id, Int32, "", "the request", "serving")                \
  C(step_id, Int64, "", "the engine step", "serving")               \
  C(engine, Int32, "", "number of the engine", "serving")           \
  C(phase, Name, "", "prefill or decode", "serving")                \
  C(tokens, Int32, "", "tokens computed for it", "serving")         \
  C(output_tokens, Int32, "", "tokens generated for it", "serving") \
  C(drafted_tokens, Int32, "", "tokens proposed for it", "serving") \
  C(output_ts, Opt, "ns", "the engine gave these out", "serving")   \
  C(sent_ts, Opt, "ns", "the front-end gave them to the client", "serving, front-end recorded")

#define SONDE_COLUMNS_IMPORT_ISSUE(C)                                       \
  C(severity, Name, "", "info, warning or error", "always")                 \
  C(code, Name, "", "name of the issue", "always")                          \
  C(count, Int64, "", "how often", "always")                                \
  C(source, Text, "", "its file, or a part of it; empty: all", "always")    \
  C(position, Opt, "bytes", "position of the first in that file", "always") \
  C(advice, Text, "", "meaning and remedy", "always")

#define SONDE_COLUMNS_METADATA(C)                                           \
  C(process_id, Ref, "", "its process; NULL: of the whole trace", "always") \
  C(key, Text, "", "name of the fact", "always")                            \
  C(value, Text, "JSON", "the fact", "always")

#define SONDE_COLUMNS_SOURCE_TABLE(C)                                                           \
  C(file, Text, "", "file it was read from, below the folder of the trace", "import")           \
  C(name, Text, "", "its name in that file", "import")                                          \
  C(stored, Text, "", "where its cells are: a table of this database", "import")                \
  C(definition, Text, "", "SQL that made it; for CSV: facts about the form, as JSON", "import") \
  C(cells, Text, "", "a letter a column: i integer, r real, t text, m SQL literals", "import")  \
  C(row_count, Int64, "", "rows", "import")

#define SONDE_COLUMNS_SOURCE_TEXT(C)                                \
  C(file, Text, "", "file below the folder of the trace", "import") \
  C(content, Text, "", "its text", "import")

// T(RowStruct, public_name, columns, "meaning of a row"). Lookup tables come before their users.
#define SONDE_TABLES(T)                                                                           \
  T(NameRow, name_, SONDE_COLUMNS_NAME, "texts that other tables refer to by number")             \
  T(ProcessRow, process, SONDE_COLUMNS_PROCESS, "a process that was recorded")                    \
  T(ThreadRow, thread, SONDE_COLUMNS_THREAD, "a thread")                                          \
  T(TrackRow, track, SONDE_COLUMNS_TRACK, "a row of the timeline; its slices nest")               \
  T(SliceRow, slice, SONDE_COLUMNS_SLICE, "something that took time")                             \
  T(ArgsIntRow, args_int, SONDE_COLUMNS_ARGS_INT, "arguments that are integers")                  \
  T(ArgsDoubleRow, args_double, SONDE_COLUMNS_ARGS_DOUBLE, "arguments that are floating point")   \
  T(ArgsTextRow, args_text, SONDE_COLUMNS_ARGS_TEXT, "arguments that are texts")                  \
  T(ArgsSharedRow, args_shared, SONDE_COLUMNS_ARGS_SHARED,                                        \
    "argument sets with a part in common, which is stored once and is in the tables above")       \
  T(OpSignatureRow, op_signature, SONDE_COLUMNS_OP_SIGNATURE, "shapes and types of op inputs")    \
  T(FrameworkOpRow, framework_op, SONDE_COLUMNS_FRAMEWORK_OP,                                     \
    "the framework's facts about a slice, in the order of slice_id")                              \
  T(CallstackRow, callstack, SONDE_COLUMNS_CALLSTACK, "frames of call stacks")                    \
  T(FlowRow, flow, SONDE_COLUMNS_FLOW, "an arrow between two slices")                             \
  T(CounterRow, counter, SONDE_COLUMNS_COUNTER, "a value that changes over time")                 \
  T(TaskKindRow, task_kind, SONDE_COLUMNS_TASK_KIND,                                              \
    "common properties of the device tasks of one kind")                                          \
  T(DeviceTaskRow, device_task, SONDE_COLUMNS_DEVICE_TASK,                                        \
    "work of a device, in the order of start")                                                    \
  T(DeviceTaskPmuRow, device_task_pmu, SONDE_COLUMNS_DEVICE_TASK_PMU,                             \
    "hardware counters of tasks")                                                                 \
  T(CommunicationOpRow, communication_op, SONDE_COLUMNS_COMMUNICATION_OP, "a collective or send") \
  T(CommunicationTransitRow, communication_transit, SONDE_COLUMNS_COMMUNICATION_TRANSIT,          \
    "transfers of a communication operation by link")                                             \
  T(CommunicationGroupRow, communication_group, SONDE_COLUMNS_COMMUNICATION_GROUP,                \
    "a group of ranks that communicate")                                                          \
  T(MemoryEventRow, memory_event, SONDE_COLUMNS_MEMORY_EVENT, "an allocation or release")         \
  T(MemoryBlockRow, memory_block, SONDE_COLUMNS_MEMORY_BLOCK, "life of a block of memory")        \
  T(StepRow, step, SONDE_COLUMNS_STEP, "a step of the training or inference loop")                \
  T(MarkRow, mark, SONDE_COLUMNS_MARK, "a mark or range of the user (mstx)")                      \
  T(ApiCallRow, api_call, SONDE_COLUMNS_API_CALL, "a call of the vendor's host interface")        \
  T(RequestRow, request, SONDE_COLUMNS_REQUEST, "a request to a server of language models")       \
  T(EngineStepRow, engine_step, SONDE_COLUMNS_ENGINE_STEP,                                        \
    "a step of the server's engine that computed tokens")                                         \
  T(RequestStepRow, request_step, SONDE_COLUMNS_REQUEST_STEP,                                     \
    "the part of a request in an engine step")                                                    \
  T(ImportIssueRow, import_issue, SONDE_COLUMNS_IMPORT_ISSUE, "problems of the data")             \
  T(MetadataRow, metadata, SONDE_COLUMNS_METADATA, "facts about trace and processes")             \
  T(SourceTableRow, source_table, SONDE_COLUMNS_SOURCE_TABLE,                                     \
    "tables of imported files that are kept cell by cell, for export without changes")            \
  T(SourceTextRow, source_text, SONDE_COLUMNS_SOURCE_TEXT,                                        \
    "small files that are kept whole, for export without changes")

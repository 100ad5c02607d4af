/* The rival's events: begin and end of a range with a 32-bit name, as Sonde's record has. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sonde_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_tracepoints.h"

#if !defined(SONDE_BENCH_LTTNG_TRACEPOINTS_H_) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SONDE_BENCH_LTTNG_TRACEPOINTS_H_

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, range_begin, LTTNG_UST_TP_ARGS(unsigned, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, name, name)))
LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, range_end, LTTNG_UST_TP_ARGS(unsigned, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, name, name)))

#endif

#include <lttng/tracepoint-event.h>

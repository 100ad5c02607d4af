/* Tracepoints of the rival in plain C functions: its headers do not pass our warnings. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tracepoints.h"

void bench_lttng_pairs(unsigned count, unsigned name);
void bench_lttng_pairs(unsigned count, unsigned name) {
  for (unsigned i = 0; i < count; ++i) {
    lttng_ust_tracepoint(sonde_bench, range_begin, name);
    lttng_ust_tracepoint(sonde_bench, range_end, name);
  }
}

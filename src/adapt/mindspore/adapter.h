/* Adapter for MindSpore 2.7 and newer: C interface of libsonde_mindspore.so, for ctypes.
 *
 * The library is built without MindSpore and Python headers and links with neither: it finds both
 * in the process that loads it. MindSpore's libraries call one another through import tables; the
 * few functions by which its runtime records are replaced there, once, at attach, and stay
 * replaced: while nothing is recorded they cost less than MindSpore's own. It follows
 * the recorder's sessions (sonde_session_config.features, .options) automatically.
 *
 * Session options: "gc_threshold_ms" and "python_functions", as in the adapter for PyTorch.
 *
 * Calls marked [GIL] must be made with the GIL held (ctypes.PyDLL), after `import mindspore`.
 * Errors: 0 for success, a negative errno value otherwise; sonde_mindspore_last_error() has one
 * line. Nothing here ends the process: a part whose self-test fails is switched off, named by the
 * self-test and reported once in the next capture.
 * The library is never unloaded. All texts are UTF-8.
 */
#ifndef SONDE_ADAPT_MINDSPORE_ADAPTER_H_
#define SONDE_ADAPT_MINDSPORE_ADAPTER_H_

#include <stddef.h>
#include <stdint.h>

#include "sonde/sonde.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [GIL] Finds MindSpore and Python, checks and replaces the functions, and registers with
 * the recorder. A second call replaces them in libraries that were loaded since.
 * version: MindSpore's, for reports. options: flat JSON object or NULL; "python_parts": false where
 * another adapter records garbage collections and Python functions of this process.
 * -ENOENT: no MindSpore or no Python in the process. */
SONDE_API int sonde_mindspore_attach(const char* version, const char* options);

/* The result of the self-test and the recorded parts, as a JSON object:
 *   {"mindspore": "2.10.0", "python": "3.11.7", "attached": true,
 *    "checks": [{"part": "runtime records", "ok": true, "detail": "..."}],
 *    "records": {"operators": true, "graph_kernels": true, "memory": true, "stacks": true}}
 * Truncated to size, always NUL-terminated. Returns the full length, or a negative errno value. */
SONDE_API int sonde_mindspore_self_test(char* json, size_t size);

/* A call of a cell (name: its path in the model; args: its class) begins on this thread. Pass the
 * returned value (0: nothing is recorded) to the end of the same call. */
SONDE_API uint32_t sonde_mindspore_cell_begin(sonde_name name, sonde_args args);
SONDE_API void sonde_mindspore_cell_end(uint32_t begun);

SONDE_API const char* sonde_mindspore_last_error(void); /* of the last failed call; "" none */

#ifdef __cplusplus
}
#endif

#endif /* SONDE_ADAPT_MINDSPORE_ADAPTER_H_ */

/* Adapter for PyTorch 2.4 and newer: C interface of libsonde_torch.so, for ctypes.
 *
 * The library is built without torch and Python headers and links with neither: it finds both in
 * the process that loads it. It records through libsonde_record.so and follows the recorder's
 * sessions automatically: the features and options of a session (sonde_session_config) are switched
 * on when it starts and off when it stops. Between sessions nothing is installed in torch.
 *
 * Session options that the adapter knows (sonde_session_config.options, a flat JSON object):
 *   "gc_threshold_ms": number    record collections of Python's garbage that take as long or longer
 *   "python_functions": true     one range per call of a Python function; expensive
 *
 * Calls marked [GIL] must be made with the GIL held (ctypes.PyDLL), after `import torch`.
 * Errors: 0 for success, a negative errno value otherwise; sonde_torch_last_error() has one line.
 * Nothing here ends the process: a part whose self-test fails is switched off, named by the
 * self-test and reported once in the next capture.
 * The library is never unloaded. All texts are UTF-8.
 */
#ifndef SONDE_ADAPT_TORCH_ADAPTER_H_
#define SONDE_ADAPT_TORCH_ADAPTER_H_

#include <stddef.h>
#include <stdint.h>

#include "sonde/sonde.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [GIL] Finds torch and Python, runs the self-test (a few milliseconds), registers with the
 * recorder. A second call only applies the options.
 * options: flat JSON object or NULL; none is needed. "layout_kind", "layout_sequence",
 * "layout_inputs", "layout_forward_thread" (offsets in at::RecordFunction) and "layout_old_strings"
 * (true: strings of before C++11) describe a torch that the self-test does not know; they are used
 * only if the self-test then passes.
 * -ENOENT: no torch or no Python in the process. */
SONDE_API int sonde_torch_attach(const char* options);

/* [GIL] Ends recording of torch, also in a session that runs. attach may follow. */
SONDE_API int sonde_torch_detach(void);

/* The result of the self-test and the recorded parts, as a JSON object:
 *   {"torch": "2.15.0", "python": "3.11.7", "attached": true,
 *    "checks": [{"part": "operator names", "ok": true, "detail": "..."}],
 *    "records": {"operators": true, "shapes": true, ...}}
 * Truncated to size, always NUL-terminated. Returns the full length, or a negative errno value. */
SONDE_API int sonde_torch_self_test(char* json, size_t size);

/* [GIL] Name of a module (PyObject*) in its model, for its ranges; class_name NULL: its type's
 * name. Not needed for models: the first call of a model names all its modules. The name is kept as
 * long as the object lives. -ENOTSUP: module ranges are not recorded, or the object is not a
 * module. */
SONDE_API int sonde_torch_register_module(void* module, const char* name, const char* class_name);

/* [GIL] A process group: the torch.distributed object (PyObject*, or NULL), its name and back end,
 * and its global ranks in the order of group ranks. Not needed for groups that torch.distributed
 * makes: its tables are followed. -ENOSPC: more than 1024 groups. */
SONDE_API int sonde_torch_register_group(void* group, const char* name, const char* backend,
                                         const int64_t* ranks, size_t count);

/* [GIL] A kernel without an operator (generated code) begins on this thread: recorded like an
 * operator, with its argument set (0: none) and the place that calls it.
 * Pass the returned value (0: nothing is recorded) to the end of the same kernel. */
SONDE_API uint32_t sonde_torch_kernel_begin(sonde_name name, sonde_args args);
SONDE_API void sonde_torch_kernel_end(uint32_t begun);

SONDE_API const char* sonde_torch_last_error(void); /* of the last failed call; "" none */

#ifdef __cplusplus
}
#endif

#endif /* SONDE_ADAPT_TORCH_ADAPTER_H_ */

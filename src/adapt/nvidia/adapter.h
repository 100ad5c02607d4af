/* Adapter for NVIDIA GPUs: C interface of libsonde_nvidia.so, for ctypes.
 *
 * Opens nothing by itself: it uses the CUPTI that the process has loaded (torch for CUDA is linked
 * with it), and follows the recorder's sessions. The devices' work goes into a file of the
 * capture (docs/capture-format.md); problems become issues of the capture.
 * Errors: 0 for success, a negative errno value otherwise. Any thread. Never unloaded.
 */
#ifndef SONDE_ADAPT_NVIDIA_ADAPTER_H_
#define SONDE_ADAPT_NVIDIA_ADAPTER_H_

#include "sonde/sonde.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records the devices in the sessions to come. A second call does nothing. -ENOENT: the process has
 * such library; sonde_nvidia_last_error() names it. */
SONDE_API int sonde_nvidia_attach(void);

SONDE_API const char* sonde_nvidia_last_error(void); /* of the last failed call; "" none */

#ifdef __cplusplus
}
#endif

#endif /* SONDE_ADAPT_NVIDIA_ADAPTER_H_ */

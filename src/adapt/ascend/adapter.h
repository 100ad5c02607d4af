/* Adapter for Ascend devices: C interface of libsonde_ascend.so, for ctypes.
 *
 * Opens nothing by itself: it uses the vendor's library that the process has loaded, and follows
 * the recorder's sessions. The device's work goes into a file of the capture
 * (docs/capture-format.md); problems become issues of the capture.
 * Errors: 0 for success, a negative errno value otherwise. Any thread. Never unloaded.
 */
#ifndef SONDE_ADAPT_ASCEND_ADAPTER_H_
#define SONDE_ADAPT_ASCEND_ADAPTER_H_

#include "sonde/sonde.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records the device in the sessions to come. A second call does nothing. -ENOENT: the process has
 * such library; sonde_ascend_last_error() names it. */
SONDE_API int sonde_ascend_attach(void);

SONDE_API const char* sonde_ascend_last_error(void); /* of the last failed call; "" none */

#ifdef __cplusplus
}
#endif

#endif /* SONDE_ADAPT_ASCEND_ADAPTER_H_ */

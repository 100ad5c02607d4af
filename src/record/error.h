// Errors of the recorder: a negative errno value as result, and one line for people kept per
// thread.
//
// The recorder lives in foreign processes behind a C interface, whose contract is exactly this
// pair.
#ifndef SONDE_RECORD_ERROR_H_
#define SONDE_RECORD_ERROR_H_

#include "base/status.h"

namespace sonde::record {

// Sets the calling thread's text (printf style) and returns -error_number. "%m" is not expanded.
int Fail(int error_number, const char* format, ...) __attribute__((format(printf, 2, 3)));

// The same from a failed Status of base.
int FailWith(const Status& status);

// Text of the calling thread's last failure; "" when there was none. Valid until the next one.
const char* LastError();

// One line on standard error, prefixed "sonde: ".
void PrintMessage(const char* format, ...) __attribute__((format(printf, 1, 2)));

// strerror without its static buffer; valid until the thread's next call.
const char* ErrorText(int error_number);

}  // namespace sonde::record

#endif  // SONDE_RECORD_ERROR_H_

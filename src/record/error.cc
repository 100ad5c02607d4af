#include "record/error.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

namespace sonde::record {
namespace {

thread_local char last_error[512];
thread_local char error_text[128];

int ErrnoOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return EINVAL;
    case StatusCode::kNotFound:
      return ENOENT;
    case StatusCode::kPermissionDenied:
      return EACCES;
    case StatusCode::kAlreadyExists:
      return EEXIST;
    case StatusCode::kResourceExhausted:
      return ENOSPC;
    default:
      return EIO;
  }
}

}  // namespace

int Fail(int error_number, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof(last_error), format, arguments);
  va_end(arguments);
  return error_number > 0 ? -error_number : -1;
}

int FailWith(const Status& status) {
  const std::string message(status.message());
  return Fail(ErrnoOf(status.code()), "%s", message.c_str());
}

const char* LastError() { return last_error; }

void PrintMessage(const char* format, ...) {
  char line[640];
  int used = snprintf(line, sizeof(line), "sonde: ");
  va_list arguments;
  va_start(arguments, format);
  used += vsnprintf(line + used, sizeof(line) - static_cast<size_t>(used) - 1, format, arguments);
  va_end(arguments);
  used = std::min<int>(used, sizeof(line) - 2);
  line[used] = '\n';
  // One write, so that lines of several processes do not mix. A failure cannot be reported any
  // more.
  [[maybe_unused]] const ssize_t ignored =
      write(STDERR_FILENO, line, static_cast<size_t>(used) + 1);
}

const char* ErrorText(int error_number) {
  // GNU strerror_r may return a constant text instead of filling the buffer.
  return strerror_r(error_number, error_text, sizeof(error_text));
}

}  // namespace sonde::record

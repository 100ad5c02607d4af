// Preloaded into a command: a fault as soon as it opens a file whose path has CRASH_AT in it, as a
// reader would make that trusts a number of the file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static void Look(const char* path) {
  const char* where = getenv("CRASH_AT");
  if (where != NULL && path != NULL && strstr(path, where) != NULL) raise(SIGSEGV);
}

static mode_t ModeOf(va_list list, int flags) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                                        \
  int name(const char* path, int flags, ...) {                            \
    va_list list;                                                         \
    va_start(list, flags);                                                \
    const mode_t mode = ModeOf(list, flags);                              \
    va_end(list);                                                         \
    Look(path);                                                           \
    return ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

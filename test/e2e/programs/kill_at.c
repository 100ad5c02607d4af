// Preloaded into a command: kills it right before the n-th call that changes files, KILL_AT counted
// from 1; without KILL_AT it lets all happen and writes their number to the file KILL_COUNT.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long kill_at = -1;

static void Count(void) {
  if (kill_at < 0) kill_at = getenv("KILL_AT") != NULL ? atol(getenv("KILL_AT")) : 0;
  if (atomic_fetch_add(&calls, 1) + 1 == kill_at) {
    kill(getpid(), SIGKILL);
    pause();
  }
}

__attribute__((destructor)) static void WriteCount(void) {
  const char* path = getenv("KILL_COUNT");
  if (path == NULL || calls == 0) return;
  FILE* file = fopen(path, "we");
  if (file == NULL) return;
  fprintf(file, "%ld", atomic_load(&calls));
  fclose(file);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int unlink(const char* path) { Count(); return NEXT(unlink)(path); }
int rmdir(const char* path) { Count(); return NEXT(rmdir)(path); }
int mkdir(const char* path, mode_t mode) { Count(); return NEXT(mkdir)(path, mode); }
int rename(const char* a, const char* b) { Count(); return NEXT(rename)(a, b); }
int renameat2(int d, const char* a, int e, const char* b, unsigned f) {
  Count();
  return NEXT(renameat2)(d, a, e, b, f);
}
int ftruncate(int fd, off_t size) { Count(); return NEXT(ftruncate)(fd, size); }
ssize_t write(int fd, const void* data, size_t size) {
  if (fd > 2) Count();
  return NEXT(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  Count();
  return NEXT(pwrite)(fd, data, size, at);
}
ssize_t pwritev(int fd, const struct iovec* iov, int n, off_t at) {
  Count();
  return NEXT(pwritev)(fd, iov, n, at);
}
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if ((flags & (O_CREAT | O_TRUNC)) != 0) Count();
  return NEXT(open)(path, flags, mode);
}

/* What Debian 12's C++ runtime and headers take of the C library and glibc 2.28 lacks. Linked into each portable binary,
   hidden, so that a program into which our libraries are loaded keeps its own functions. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* 0: never assume that there is one thread alone (glibc 2.32). */
HIDDEN char __libc_single_threaded = 0;

/* The unwinder of GCC 12 asks it first (glibc 2.35); after -1 it looks through the loaded objects itself. */
HIDDEN int _dl_find_object(void* address, void* result) {
  (void)address;
  (void)result;
  return -1;
}

/* std::random_device (glibc 2.36). */
HIDDEN uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value)) {
  }
  return value;
}

/* glibc 2.30. */
HIDDEN pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

/* glibc 2.30: waits until a time of `clock`. A condition variable of the standard library follows the clock of the day,
   so the rest of the wait is added to that; its callers look at their own clock again when this returns. */
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  const int64_t second = 1000000000;
  struct timespec now;
  struct timespec day;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &day) != 0) return EINVAL;
  int64_t rest = (until->tv_sec - now.tv_sec) * second + (until->tv_nsec - now.tv_nsec);
  if (rest < 0) rest = 0;
  day.tv_sec += rest / second;
  day.tv_nsec += rest % second;
  if (day.tv_nsec >= second) {
    day.tv_sec += 1;
    day.tv_nsec -= second;
  }
  return pthread_cond_timedwait(condition, mutex, &day);
}

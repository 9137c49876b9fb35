/* LD_PRELOADed by slow_calls.py: every call that names a file, reads one or writes one takes as long as SLOW_CALLS
 * says, in microseconds, as on a network file system. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static long delay(void) {
  static long microseconds = -1;
  if (microseconds < 0) microseconds = getenv("SLOW_CALLS") != NULL ? atol(getenv("SLOW_CALLS")) : 0;
  return microseconds;
}

static void* slowly(const char* name) {
  const struct timespec pause = {delay() / 1000000, delay() % 1000000 * 1000};
  nanosleep(&pause, NULL);
  return dlsym(RTLD_NEXT, name);
}

/* Arguments of up to six registers go through as they came, whatever they are. */
#define SLOW(name)                                                                          \
  long name(long a, long b, long c, long d, long e, long f) {                               \
    return ((long (*)(long, long, long, long, long, long))slowly(#name))(a, b, c, d, e, f); \
  }
/* Those whose result is an int, which says -1 in half a register. */
#define SLOW_INT(name)                                                                     \
  int name(long a, long b, long c, long d, long e, long f) {                               \
    return ((int (*)(long, long, long, long, long, long))slowly(#name))(a, b, c, d, e, f); \
  }

SLOW(pread64)
SLOW(pwrite64)
SLOW(readlink)
SLOW(syscall) /* openat2 */
SLOW(opendir)
SLOW_INT(open64)
SLOW_INT(openat64)
SLOW_INT(stat64)
SLOW_INT(lstat64)
SLOW_INT(fstatat64)
SLOW_INT(fsync)
SLOW_INT(fdatasync)
SLOW_INT(futimens)
SLOW_INT(linkat)
SLOW_INT(mkdir)
SLOW_INT(mkdirat)
SLOW_INT(rename)
SLOW_INT(renameat)
SLOW_INT(unlink)
SLOW_INT(unlinkat)

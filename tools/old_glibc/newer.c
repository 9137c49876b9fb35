/* What headers and archives of a newer glibc ask for, for the library or program that this is linked into alone.
 * 64-bit. */
#include <stdarg.h>
#include <sys/syscall.h>

#pragma GCC visibility push(hidden)

enum { CURRENT_FOLDER = -100, LINK_ITSELF = 0x100 }; /* <fcntl.h>, whose fcntl is another here */

extern long syscall(long number, ...) __attribute__((visibility("default")));
extern int fcntl(int file, int command, ...) __attribute__((visibility("default")));

/* 2.28 */
int fcntl64(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  long argument = va_arg(arguments, long);
  va_end(arguments);
  return fcntl(file, command, argument);
}

/* 2.32: whether the process never had a second thread; "no" is always safe. */
char __libc_single_threaded;

/* 2.33: they were inline functions. The kernel's struct is the library's. */
int fstatat(int folder, const char* path, void* told, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, told, flags);
}
int fstatat64(int folder, const char* path, void* told, int flags) {
  return fstatat(folder, path, told, flags);
}
int stat(const char* path, void* told) {
  return fstatat(CURRENT_FOLDER, path, told, 0);
}
int stat64(const char* path, void* told) {
  return stat(path, told);
}
int lstat(const char* path, void* told) {
  return fstatat(CURRENT_FOLDER, path, told, LINK_ITSELF);
}
int lstat64(const char* path, void* told) {
  return lstat(path, told);
}
int fstat(int file, void* told) {
  return (int)syscall(SYS_fstat, file, told);
}
int fstat64(int file, void* told) {
  return fstat(file, told);
}

/* 2.36: std::random_device. */
unsigned arc4random(void) {
  unsigned number;
  while (syscall(SYS_getrandom, &number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

#pragma GCC visibility pop

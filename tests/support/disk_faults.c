/* A file layer that fails on request: loaded before libc, it counts the calls that change the disk. At the one that was
   asked for it ends the process, before the call or in the middle of a write, or the disk is full from then on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OFF, KILL, TORN, FULL };
static long at, calls;
static int mode;

void faults_arm(long number, int how) { at = number; calls = 0; mode = how; }
long faults_calls(void) { return calls; }

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

/* Whether the call must fail for want of room. takes: whether it would take some. */
static int fails(int takes) {
  if (mode == OFF) return 0;
  long mine = __sync_add_and_fetch(&calls, 1);
  if (mine == at && mode == KILL) raise(SIGKILL);
  if (mine >= at && mode == FULL && takes) { errno = ENOSPC; return 1; }
  return 0;
}

static int is_file(int file) {
  struct stat about;
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

#define OPENS(name, head, pass)                                                   \
  int name head {                                                                 \
    mode_t bits = 0;                                                              \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, flags); bits = va_arg(rest, mode_t); va_end(rest); } \
    int changes = (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY; \
    if (changes && fails((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE)) return -1; \
    return REAL(int(*)head, #name) pass;                                          \
  }
OPENS(open, (const char *path, int flags, ...), (path, flags, bits))
OPENS(open64, (const char *path, int flags, ...), (path, flags, bits))
OPENS(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, bits))
OPENS(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, bits))

ssize_t write(int file, const void *data, size_t size) {
  ssize_t (*real)(int, const void *, size_t) = REAL(ssize_t(*)(int, const void *, size_t), "write");
  if (mode == OFF || !is_file(file)) return real(file, data, size);
  if (calls + 1 == at && (mode == TORN || (mode == FULL && size > 1))) { /* half of it comes to the disk */
    calls++;
    ssize_t done = real(file, data, size / 2);
    if (mode == TORN) raise(SIGKILL);
    return done;
  }
  return fails(1) ? -1 : real(file, data, size);
}

#define PASSED(type, name, head, pass, takes)                 \
  type name head {                                            \
    if (fails(takes)) return -1;                              \
    return REAL(type(*)head, #name) pass;                     \
  }
PASSED(ssize_t, pwrite, (int file, const void *data, size_t size, off_t where), (file, data, size, where), 1)
PASSED(ssize_t, pwrite64, (int file, const void *data, size_t size, off_t where), (file, data, size, where), 1)
PASSED(ssize_t, writev, (int file, const struct iovec *data, int count), (file, data, count), 1)
PASSED(int, fsync, (int file), (file), 1)
PASSED(int, fdatasync, (int file), (file), 1)
PASSED(int, ftruncate, (int file, off_t size), (file, size), 0)
PASSED(int, ftruncate64, (int file, off_t size), (file, size), 0)
PASSED(int, rename, (const char *from, const char *to), (from, to), 1)
PASSED(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), 1)
PASSED(int, link, (const char *from, const char *to), (from, to), 1)
PASSED(int, linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags), 1)
PASSED(int, symlink, (const char *from, const char *to), (from, to), 1)
PASSED(int, mkdir, (const char *path, mode_t bits), (path, bits), 1)
PASSED(int, mkdirat, (int folder, const char *path, mode_t bits), (folder, path, bits), 1)
PASSED(int, unlink, (const char *path), (path), 0)
PASSED(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), 0)
PASSED(int, rmdir, (const char *path), (path), 0)
PASSED(int, chmod, (const char *path, mode_t bits), (path, bits), 0)
PASSED(int, fchmod, (int file, mode_t bits), (file, bits), 0)
PASSED(int, fchmodat, (int folder, const char *path, mode_t bits, int flags), (folder, path, bits, flags), 0)
PASSED(int, utimensat, (int folder, const char *path, const struct timespec times[2], int flags), (folder, path, times, flags), 0)

#include "lib/base/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tare {

int above_standard_streams(int opened) {
  if (opened < 0 || opened > STDERR_FILENO) return opened;
  const int moved = ::fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(opened);
  errno = error;
  return moved;
}

}  // namespace tare

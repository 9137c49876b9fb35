#include "lib/monitor/line_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/standard_streams.hpp"

namespace tare::monitor {
namespace {

/// 0, or an errno.
int append(const std::string& path, const std::string& line) {
  constexpr mode_t mode = 0666;
  // Nonblocking: a pipe that nobody reads fails instead of waiting.
  const int file =
      above_standard_streams(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, mode));
  if (file < 0) return errno;
  const ssize_t written = write(file, line.data(), line.size());
  const int error = written < 0 ? errno : 0;
  close(file);
  if (error != 0) return error;
  return static_cast<std::size_t>(written) == line.size() ? 0 : ENOSPC;
}

}  // namespace

void LineFile::add(const std::string& line) {
  if (error_ == 0) error_ = append(path_, line);
}

}  // namespace tare::monitor

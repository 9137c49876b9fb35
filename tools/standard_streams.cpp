#include "tools/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

bool secure_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number: this one. What is opened so can neither be read nor written, like the stream before.
    if (::open("/", O_PATH) != stream) return false;
  }
  return true;
}

bool write_to(std::FILE* stream, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

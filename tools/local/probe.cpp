#include "tools/local/probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "lib/base/child.hpp"

namespace {

constexpr std::size_t most_words = 500;

/// The first line that comes out of the pipe, all of which is read.
std::string first_line_of(int pipe) {
  std::string words;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t count = ::read(pipe, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (words.size() < most_words) words.append(piece.data(), static_cast<std::size_t>(count));
  }
  words = words.substr(0, words.find('\n'));
  return words.substr(0, most_words);
}

}  // namespace

std::string why_not_runnable(const std::string& program) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return std::strerror(errno);
  tare::SpawnActions actions;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  std::string word = program;
  std::string version = "--version";
  std::array<char*, 3> arguments = {word.data(), version.data(), nullptr};
  pid_t child = 0;
  // All at once, what else it would look for only when it is called.
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  std::string bind_now = "LD_BIND_NOW=1";
  variables.insert(variables.begin(), bind_now.data());
  variables.push_back(nullptr);
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), variables.data());
  ::close(pipe[1]);
  const std::string said = failed == 0 ? first_line_of(pipe[0]) : "";
  ::close(pipe[0]);
  if (failed != 0) return program + ": " + std::strerror(failed);
  const int status = tare::status_of(child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (!said.empty()) return said;
  return WIFEXITED(status) ? fmt::format("{}: it leaves with {} at once", program, WEXITSTATUS(status))
                           : fmt::format("{}: it ends by signal {} at once", program, WTERMSIG(status));
}

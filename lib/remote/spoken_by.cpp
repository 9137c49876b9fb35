#include "lib/remote/spoken_by.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "lib/base/child.hpp"
#include "lib/base/error.hpp"

namespace tare {
namespace {

/// All that comes out of the pipe is read, and as much kept.
Bytes read_all(int pipe, std::uint64_t most_bytes) {
  Bytes found;
  std::array<std::byte, 4096> piece{};
  for (;;) {
    const ssize_t count = ::read(pipe, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return found;
    if (found.size() <= most_bytes) found.insert(found.end(), piece.begin(), piece.begin() + count);
  }
}

/// Never found in or from the current folder, which may be an unpacked checkpoint: not by an entry of PATH that is
/// empty or relative, either.
std::string path_of_program(const std::string& name) {
  if (name.starts_with('/')) return name;
  if (name.find('/') != std::string::npos) {
    throw Error(Status::refused, name + ": a program is not looked for from the current folder",
                "Write its whole path.");
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string found = folder + "/" + name;
    if (folder.starts_with('/') && ::access(found.c_str(), X_OK) == 0) return found;
  }
  throw Error(Status::io, name + ": no folder of PATH has that program", "Write its whole path.");
}

/// Does a backslash stand here that takes what follows as it is? `quote`: that around it, or 0.
bool is_escape(std::string_view text, char quote) {
  if (text.size() < 2 || text[0] != '\\' || quote == '\'') return false;
  return quote == 0 || text[1] == '"' || text[1] == '\\';
}

}  // namespace

std::vector<std::string> words_of_command(std::string_view command) {
  std::vector<std::string> words;
  char quote = 0;
  bool is_in_word = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool is_blank = c == ' ' || c == '\t';
    if (quote == 0 && is_blank) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    if (is_escape(command.substr(i, 2), quote)) {
      words.back() += command[++i];
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      words.back() += c;
    }
  }
  return words;
}

Bytes spoken_by(std::vector<std::string> words, std::uint64_t most_bytes) {
  if (words.empty()) throw Error(Status::io, "no program is named");
  const std::string program = path_of_program(words.front());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw Error(Status::io, std::strerror(errno));
  SpawnActions actions;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::close(pipe[1]);
  const Bytes said = failed == 0 ? read_all(pipe[0], most_bytes) : Bytes();
  ::close(pipe[0]);
  if (failed != 0) throw Error(Status::io, fmt::format("{}: {}", words.front(), std::strerror(failed)));
  const int status = status_of(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Error(Status::io, words.front() + ": it fails");
  if (said.size() > most_bytes) throw Error(Status::io, words.front() + ": it prints too much");
  return said;
}

}  // namespace tare

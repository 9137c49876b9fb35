#include "tools/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "lib/base/error.hpp"

namespace {

constexpr std::array<std::string_view, 6> codes = {"", "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};

bool wants_colours() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return ::isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Terminal::Terminal() : has_colours_(wants_colours()) {}

std::string Terminal::styled(Style style, std::string_view text) const {
  if (!has_colours_ || style == Style::plain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", codes[static_cast<std::size_t>(style)], text);
}

void Terminal::progress(std::string_view line) const {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  shows_progress_ = true;
}

void Terminal::end_progress() const {
  if (shows_progress_) fmt::print(stderr, "\r\x1b[K");
  shows_progress_ = false;
}

void Terminal::answer(std::string_view text) const {
  end_progress();
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!is_written) tare::throw_io("standard output", errno);
}

void Terminal::say(std::string_view line) const {
  end_progress();
  fmt::print(stderr, "{}\n", line);
}

bool Terminal::confirm(std::string_view question) const {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return true;
  fmt::print(stderr, "{} [y/N] ", question);
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

#include "tools/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "lib/base/error.hpp"
#include "tools/standard_streams.hpp"

namespace {

constexpr std::array<std::string_view, 6> codes = {"", "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool is_zero(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "0";
}

bool wants_colours(Colour colour) {
  if (colour != Colour::automatic) return colour == Colour::always;
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && !is_zero("CLICOLOR_FORCE")) return true;
  const char* term = std::getenv("TERM");
  return !is_zero("CLICOLOR") && ::isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

/// The terminal itself, where stderr is not one.
std::FILE* where_to_ask() {
  return ::isatty(STDERR_FILENO) != 0 ? stderr : std::fopen("/dev/tty", "we");
}

bool is_yes(std::string_view answer) {
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

Terminal::Terminal(TerminalOptions options) : options_(options), has_colours_(wants_colours(options.colour)) {}

std::string Terminal::styled(Style style, std::string_view text) const {
  if (!has_colours_ || style == Style::plain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", codes[static_cast<std::size_t>(style)], text);
}

void Terminal::progress(std::string_view line) const {
  if (options_.is_quiet || ::isatty(STDERR_FILENO) == 0) return;
  const std::lock_guard lock(mutex_);
  write_to(stderr, fmt::format("\r\x1b[K{}", line));
  shows_progress_ = true;
}

/// Under the mutex.
void Terminal::end_progress() const {
  if (shows_progress_) write_to(stderr, "\r\x1b[K");
  shows_progress_ = false;
}

void Terminal::answer(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  end_progress();
  if (write_to(stdout, text)) return;
  if (errno == EPIPE) throw ReaderLeft();
  tare::throw_io("standard output", errno);
}

void Terminal::say(std::string_view line) const {
  const std::lock_guard lock(mutex_);
  end_progress();
  write_to(stderr, fmt::format("{}\n", line));
}

void Terminal::note(std::string_view line) const {
  if (!options_.is_quiet) say(line);
}

void Terminal::require_yes(std::string_view question, std::string_view instead) const {
  std::FILE* const screen = ::isatty(STDIN_FILENO) != 0 ? where_to_ask() : nullptr;
  if (screen == nullptr) {
    throw tare::Error(tare::Status::refused, "nobody can be asked, as there is no terminal: nothing was written",
                      fmt::format("{} does it without asking", instead));
  }
  const std::lock_guard lock(mutex_);
  end_progress();
  write_to(screen, fmt::format("{} [y/N] ", question));
  if (screen != stderr) std::fclose(screen);
  std::string line;
  std::getline(std::cin, line);
  if (!is_yes(line)) throw tare::Error(tare::Status::refused, "not confirmed: nothing was written");
}

// Where the answer goes, and how it may look there. stdout: the answer; stderr: the rest.
#pragma once

#include <string>
#include <string_view>

enum class Style { plain, strong, good, warning, bad, faint };

class Terminal {
 public:
  /// Colours only where stdout is a terminal that has them, NO_COLOR is not set and TERM is not "dumb".
  Terminal();

  /// `text` in that style; as it is where there are no colours. Text from a file is escaped before it comes here.
  [[nodiscard]] std::string styled(Style style, std::string_view text) const;
  /// Writes to stdout. Throws `io` where it cannot be written.
  void answer(std::string_view text) const;
  /// Writes a line to stderr.
  void say(std::string_view line) const;
  /// Shows a line on stderr that the next one replaces, if that is a terminal.
  void progress(std::string_view line) const;
  /// Asks on stderr and reads the answer, if stdin and stderr are terminals; else takes it as a yes.
  [[nodiscard]] bool confirm(std::string_view question) const;

 private:
  void end_progress() const;

  bool has_colours_;
  mutable bool shows_progress_ = false;
};

// Where the answer goes, and how it may look there. stdout: the answer; stderr: the rest.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

enum class Style { plain, strong, good, warning, bad, faint };

enum class Colour : std::uint8_t { automatic, always, never };

/// What every verb can be told about its words.
struct TerminalOptions {
  Colour colour = Colour::automatic;
  bool is_quiet = false;    ///< no notes
  bool is_verbose = false;  ///< details, too
};

/// Nobody reads stdout any more.
struct ReaderLeft : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "standard output: nobody reads it any more"; }
};

/// Lines are whole, whichever threads say them.
class Terminal {
 public:
  /// Colours where `options` say so. Where they leave it open, NO_COLOR and CLICOLOR=0 speak against them,
  /// CLICOLOR_FORCE for them, and else a terminal has them whose TERM is not "dumb".
  explicit Terminal(TerminalOptions options = {});

  /// `text` in that style; as it is where there are no colours. Text from a file is escaped before it comes here.
  [[nodiscard]] std::string styled(Style style, std::string_view text) const;
  /// Writes to stdout. Throws ReaderLeft, or `io` where it cannot be written for another reason.
  void answer(std::string_view text) const;
  /// Writes a line to stderr: an error or a warning. Where it cannot be written it is lost, and nothing else is.
  void say(std::string_view line) const;
  /// The same for what is good to know, unless --quiet.
  void note(std::string_view line) const;
  /// Whether --verbose asks for details, which are then said.
  [[nodiscard]] bool is_verbose() const { return options_.is_verbose; }
  /// Shows a line on stderr that the next one replaces, if that is a terminal, and unless --quiet.
  void progress(std::string_view line) const;
  /// Asks whoever sits at the terminal, also where stderr goes elsewhere. Throws `refused` unless the answer is yes,
  /// and where stdin is no terminal, so that nobody can be asked: then `instead` says which option answers beforehand.
  void require_yes(std::string_view question, std::string_view instead) const;

 private:
  void end_progress() const;

  mutable std::mutex mutex_;
  TerminalOptions options_;
  bool has_colours_;
  mutable bool shows_progress_ = false;
};

#include "lib/trace/text/unwrapped.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace tare {
namespace {

/// The keys that collectors keep the line under.
constexpr auto keys_of_lines = std::to_array<std::string_view>({
    "log",          // Docker, Fluent Bit
    "MESSAGE",      // journalctl -o json
    "textPayload",  // gcloud logging read
    "message",      // Elastic, Vector, Datadog, aws logs
    "line",         // logcli -o jsonl
    "LogEntry",     // Azure
    "LogMessage",
    "_raw",  // Splunk
    "msg",
});

std::size_t without_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
  return at;
}

/// Where the text that begins behind a quote ends: at its other quote.
std::optional<std::size_t> end_of_text(std::string_view line, std::size_t at) {
  for (; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\') ++at;
  }
  return at < line.size() ? std::optional(at) : std::nullopt;
}

/// What the value of the first such key in JSON says, as it is written; at whatever depth it stands.
std::optional<std::string_view> written_line(std::string_view line) {
  std::size_t at = 0;
  while ((at = line.find('"', at)) != line.npos) {
    const auto end = end_of_text(line, at + 1);
    if (!end) return {};
    const std::string_view text = line.substr(at + 1, *end - at - 1);
    at = without_blanks(line, *end + 1);
    if (at == line.size() || line[at] != ':') continue;
    at = without_blanks(line, at + 1);
    const bool is_key = std::find(keys_of_lines.begin(), keys_of_lines.end(), text) != keys_of_lines.end();
    if (!is_key || at == line.size() || line[at] != '"') continue;
    const std::size_t begin = at + 1;
    const std::size_t last = end_of_text(line, begin).value_or(line.size());  // Docker cuts long ones
    return line.substr(begin, last - begin);
  }
  return {};
}

char meant_by(std::string_view digits) {
  if (digits == "001b" || digits == "001B") return '\x1b';
  if (digits == "003c" || digits == "003C") return '<';
  if (digits == "003e" || digits == "003E") return '>';
  return digits == "0026" ? '&' : '?';
}

void unescape(std::string_view text, std::string& kept) {
  kept.clear();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      kept.push_back(text[at]);
      continue;
    }
    const char c = text[++at];
    if (c == 'u' && at + 4 < text.size()) {
      kept.push_back(meant_by(text.substr(at + 1, 4)));
      at += 4;
    } else {
      kept.push_back(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
    }
  }
}

}  // namespace

bool wraps_lines(std::string_view json) {
  return written_line(json).has_value();
}

std::string_view unwrapped(std::string_view line, std::string& kept) {
  const std::size_t at = without_blanks(line, 0);
  if (at == line.size() || line[at] != '{') return line;
  const auto written = written_line(line);
  if (!written) return line;
  unescape(*written, kept);
  while (!kept.empty() && kept.back() == '\n') kept.pop_back();
  return kept;
}

}  // namespace tare

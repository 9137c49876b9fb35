#include "lib/attest/logging_config.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "lib/attest/own_class.hpp"
#include "lib/attest/python_expression.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

constexpr auto evaluated_sections = std::to_array<std::string_view>({"[handler_", "[formatter_"});
constexpr auto evaluated_options = std::to_array<std::string_view>({"args", "kwargs"});
constexpr std::string_view class_option = "class";
constexpr auto modules_of_logging = std::to_array<std::string_view>({"", "handlers", "logging", "logging.handlers"});
constexpr auto standard_streams = std::to_array<std::string_view>({"sys.stderr", "sys.stdout"});
/// By which one option takes the value of another.
constexpr std::string_view interpolation = "%(";

std::string_view bare(std::string_view text) {
  constexpr std::string_view around = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(around), text.size()));
  return text.substr(0, text.find_last_not_of(around) + 1);
}

struct LoggingOption {
  std::string name, value;
  std::uint64_t offset = 0;
};

std::optional<LoggingOption> option_in(std::string_view line, std::uint64_t offset) {
  const std::size_t mark = line.find_first_of("=:");
  if (mark == line.npos) return std::nullopt;
  std::string name(bare(line.substr(0, mark)));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name != class_option && !holds(evaluated_options, name)) return std::nullopt;
  return LoggingOption{std::move(name), std::string(bare(line.substr(mark + 1))), offset};
}

/// Those that are evaluated, of all sections, as a default counts in each. A line that begins with a blank goes on with
/// a value before it, as far as it can be.
std::vector<LoggingOption> options_in(std::string_view text) {
  std::vector<LoggingOption> options;
  bool is_open = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view whole = text.substr(begin, end - begin), line = bare(whole);
    const bool says_nothing = line.empty() || line.front() == '#' || line.front() == ';';
    is_open = is_open && (says_nothing || line.data() != whole.data());
    if (is_open) options.back().value.append("\n").append(says_nothing ? "" : line);
    if (auto option = is_open || says_nothing ? std::nullopt : option_in(line, begin)) {
      options.push_back(*std::move(option));
      is_open = true;
    }
    begin = end + 1;
  }
  return options;
}

std::string without_streams(std::string_view value) {
  std::string rest;
  for (std::size_t at = value.find("sys.std"); at != value.npos; at = value.find("sys.std")) {
    rest += value.substr(0, at);
    value.remove_prefix(at);
    const auto stream = std::ranges::find_if(standard_streams, [&](auto name) { return value.starts_with(name); });
    rest += stream == standard_streams.end() ? value.substr(0, 1) : "0";
    value.remove_prefix(stream == standard_streams.end() ? 1 : stream->size());
  }
  return rest.append(value);
}

bool is_of_values(std::string_view value) {
  return value.find(interpolation) == value.npos && reach_of(without_streams(value)) == Reach::values;
}

std::optional<GlobalName> name_in(const LoggingOption& option) {
  const GlobalName evaluated{"builtins", "eval", option.offset};
  if (holds(evaluated_options, option.name))
    return is_of_values(option.value) ? std::nullopt : std::optional(evaluated);
  if (option.name != class_option || option.value.empty()) return std::nullopt;
  const std::string_view path = option.value;
  if (path.find(interpolation) != path.npos || reach_of(path) == Reach::calls) return evaluated;
  const std::size_t dot = path.rfind('.');
  const std::string_view module = path.substr(0, dot == path.npos ? 0 : dot);
  const std::string_view name = path.substr(dot + 1);
  if (holds(modules_of_logging, module) && is_class_name(name)) return std::nullopt;
  return GlobalName{module.empty() ? "logging" : std::string(module), std::string(name), option.offset};
}

}  // namespace

bool is_logging_config(std::string_view text) {
  return std::ranges::any_of(evaluated_sections,
                             [&](std::string_view section) { return text.find(section) != text.npos; });
}

std::vector<GlobalName> names_in_logging_config(std::string_view text) {
  std::vector<GlobalName> names;
  for (const LoggingOption& option : options_in(text)) {
    if (auto name = name_in(option)) names.push_back(*std::move(name));
  }
  return names;
}

}  // namespace tare

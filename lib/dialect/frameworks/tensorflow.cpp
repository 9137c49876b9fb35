// TensorFlow: a file beside a run's tensor bundles says which was saved last, in protobuf's text format. Source:
// tensorflow/python/checkpoint/checkpoint_management.py, latest_checkpoint.
#include <algorithm>
#include <array>
#include <charconv>

#include "lib/base/file_path.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

/// Takes from `text` the digits of that base that it begins with, `most` of them at most, as one byte.
std::optional<char> byte_of_digits(std::string_view& text, int base, std::size_t most) {
  unsigned byte = 0;
  const char* const begin = text.data();
  const auto [end, problem] = std::from_chars(begin, begin + std::min(most, text.size()), byte, base);
  if (problem != std::errc() || byte > 0xff) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - begin));
  return static_cast<char>(byte);
}

/// What stands behind a backslash in protobuf's texts, which is taken from `text`.
std::optional<char> escape_of(std::string_view& text) {
  constexpr std::string_view letters = "abfnrtv", bytes = "\a\b\f\n\r\t\v";
  if (text.empty()) return std::nullopt;
  if (text.front() >= '0' && text.front() <= '7') return byte_of_digits(text, 8, 3);
  const char letter = text.front();
  text.remove_prefix(1);
  if (letter == 'x' || letter == 'X') return byte_of_digits(text, 16, 2);
  const std::size_t known = letters.find(letter);
  return known == letters.npos ? letter : bytes[known];
}

/// The first text in quotes of a message in protobuf's text format.
std::optional<std::string> first_text(std::string_view message) {
  const std::size_t begin = message.find_first_of("\"'");
  if (begin == message.npos) return std::nullopt;
  const char quote = message[begin];
  std::string text;
  for (std::string_view left = message.substr(begin + 1); !left.empty();) {
    const char next = left.front();
    left.remove_prefix(1);
    if (next == quote) return text;
    const auto taken = next == '\\' ? escape_of(left) : std::optional(next);
    if (!taken) return std::nullopt;
    text += *taken;
  }
  return std::nullopt;
}

/// Its first line, model_checkpoint_path: "ckpt-7". Absolute paths are those that it was saved under.
std::optional<std::string> bundle_index(std::string_view text) {
  const auto path = first_text(text);
  if (!path) return std::nullopt;
  const bool is_absolute = path->starts_with('/') || path->find("://") != path->npos;
  return (is_absolute ? std::string(file_name(*path)) : *path) + ".index";
}

std::optional<std::string> bundle_index_elsewhere(std::string_view text) {
  const auto path = first_text(text);
  return path && path->starts_with('/') ? std::optional(*path + ".index") : std::nullopt;
}

constexpr auto tensorflow_pointers = std::to_array<RunPointer>({
    {.file = "checkpoint",
     .target = bundle_index,
     .beginning = "model_checkpoint_path:",
     .elsewhere = bundle_index_elsewhere},
});

}  // namespace

constinit const Trainer tensorflow_trainer = {
    .name = "TensorFlow",
    .pointers = tensorflow_pointers,
};

}  // namespace tare

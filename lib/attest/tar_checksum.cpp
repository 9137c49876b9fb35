#include "lib/attest/tar_checksum.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tare {
namespace {

constexpr std::size_t header_size = 512, checksum_at = 148, checksum_size = 8;

/// What Python's int() takes for a number of base 8: a sign, the prefix 0o, underscores between digits.
std::optional<std::int64_t> octal_of_python(std::string_view digits) {
  const bool is_negative = digits.starts_with('-');
  if (is_negative || digits.starts_with('+')) digits.remove_prefix(1);
  const bool has_prefix = digits.starts_with("0o") || digits.starts_with("0O");
  if (has_prefix) digits.remove_prefix(digits.substr(2).starts_with('_') ? 3 : 2);
  const bool is_parted = digits.find("__") == digits.npos && !digits.starts_with('_') && !digits.ends_with('_');
  if (digits.empty() || !is_parted) return std::nullopt;
  std::int64_t number = 0;
  for (const char digit : digits) {
    if (digit == '_') continue;
    if (digit < '0' || digit > '7') return std::nullopt;
    number = number << 3 | (digit - '0');
  }
  return is_negative ? -number : number;
}

/// A number of a header: octal up to the first zero byte, or base 256 where the first byte says so.
std::optional<std::int64_t> tar_number(std::string_view field) {
  constexpr std::string_view blanks = "\t\n\v\f\r\x1c\x1d\x1e\x1f ";
  const bool is_negative = field.front() == '\xff';
  if (is_negative || field.front() == '\x80') {
    std::int64_t number = is_negative ? -1 : 0;
    for (const char byte : field.substr(1)) number = number * 256 + static_cast<unsigned char>(byte);
    return number;
  }
  field = field.substr(0, field.find('\0'));
  field.remove_prefix(std::min(field.find_first_not_of(blanks), field.size()));
  field = field.substr(0, field.find_last_not_of(blanks) + 1);
  return field.empty() ? 0 : octal_of_python(field);
}

}  // namespace

bool begins_as_tar(const Source& source) {
  if (source.size() < header_size) return false;
  const Bytes header = source.read({0, header_size});
  const std::optional<std::int64_t> stored = tar_number(as_text(header).substr(checksum_at, checksum_size));
  if (!stored) return false;
  std::int64_t sum = 0;
  std::int64_t signed_sum = 0;
  for (std::size_t i = 0; i < header_size; ++i) {
    const bool is_stored = i >= checksum_at && i < checksum_at + checksum_size;
    const char byte = is_stored ? ' ' : static_cast<char>(header[i]);
    sum += static_cast<unsigned char>(byte);
    signed_sum += static_cast<signed char>(byte);
  }
  return *stored == sum || *stored == signed_sum;
}

}  // namespace tare

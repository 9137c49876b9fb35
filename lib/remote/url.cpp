#include "lib/remote/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"

namespace tare {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Between "://" and the path, without the user.
std::string authority_of(std::string_view url) {
  url.remove_prefix(std::min(std::min(url.find("://"), url.size()) + 3, url.size()));
  url = url.substr(0, url.find_first_of("/?#\\"));
  const std::size_t at = url.rfind('@');
  if (at != url.npos) url.remove_prefix(at + 1);
  return in_small_letters(url);
}

/// Every byte but letters, digits, and those of `kept` as %XX.
std::string escaped(std::string_view text, std::string_view kept) {
  std::string result;
  for (const char c : text) {
    if (is_letter_or_digit(c) || kept.find(c) != kept.npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

}  // namespace

bool has_scheme(std::string_view url, std::string_view scheme) {
  return url.size() > scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), url.begin(),
                    [](char wanted, char given) { return wanted == small_letter(given); });
}

bool is_http(std::string_view url) {
  return has_scheme(url, "http://");
}

bool is_https(std::string_view url) {
  return has_scheme(url, "https://");
}

std::string host_of(std::string_view url) {
  const std::string authority = authority_of(url);
  const std::size_t bracket = authority.find(']');
  return authority.substr(0, authority.find(':', bracket == authority.npos ? 0 : bracket));
}

bool is_private_way(std::string_view url) {
  constexpr auto near = std::to_array<std::string_view>({"localhost", "127.0.0.1", "[::1]"});
  return is_https(url) || (is_http(url) && std::ranges::find(near, host_of(url)) != near.end());
}

std::string origin_of(std::string_view url) {
  return fmt::format("{}://{}", is_https(url) ? "https" : "http", authority_of(url));
}

S3Object parse_bucket(std::string_view url) {
  const auto is_bucket_character = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; };
  const std::size_t authority = url.find("://");
  if (authority != url.npos) {
    const std::string_view rest = url.substr(authority + 3);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view bucket = rest.substr(0, slash);
    if (!bucket.empty() && std::all_of(bucket.begin(), bucket.end(), is_bucket_character)) {
      return {std::string(bucket), std::string(rest.substr(std::min(slash + 1, rest.size())))};
    }
  }
  throw Error(Status::invalid_argument,
              fmt::format("{}: not of the form {}://BUCKET/KEY", url, url.substr(0, std::min(authority, url.size()))));
}

std::string escaped_key(std::string_view key) {
  return escaped(key, "-._~/");
}

std::string escaped_value(std::string_view value) {
  return escaped(value, "-._~");
}

namespace {

std::string unescaped(std::string_view text, char plus) {
  std::string plain;
  while (!text.empty()) {
    unsigned char byte = 0;
    const bool may_be_escape = text[0] == '%' && text.size() >= 3;
    if (may_be_escape && std::from_chars(text.data() + 1, text.data() + 3, byte, 16).ptr == text.data() + 3) {
      plain += static_cast<char>(byte);
      text.remove_prefix(3);
    } else {
      plain += text[0] == '+' ? plus : text[0];
      text.remove_prefix(1);
    }
  }
  return plain;
}

}  // namespace

std::string unescaped_value(std::string_view text) {
  return unescaped(text, ' ');
}

std::string unescaped_key(std::string_view text) {
  return unescaped(text, '+');
}

}  // namespace tare

// What the user calls a remote checkpoint, and what a server is asked for.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/shown_url.hpp"

namespace tare {

/// Does it begin with "SCHEME://", given in small letters, and go on?
bool has_scheme(std::string_view url, std::string_view scheme);
bool is_http(std::string_view url);
bool is_https(std::string_view url);

/// The host alone, in small letters: without user, port, and path; of IPv6 with its brackets.
std::string host_of(std::string_view url);
/// Whether what is sent there is read by nobody on the way: https, or http to this machine.
bool is_private_way(std::string_view url);
/// Scheme, host and port, as written.
std::string origin_of(std::string_view url);

struct S3Object {
  std::string bucket;
  std::string key;
};

/// SCHEME://BUCKET/KEY; without a key the whole bucket. Throws `invalid_argument` for anything else, and for a bucket
/// with characters that none has.
S3Object parse_bucket(std::string_view url);

/// `key` with every byte but unreserved ones and '/' as %XX: what S3 signs.
std::string escaped_key(std::string_view key);
/// The same with '/' as %2F: a value in a query.
std::string escaped_value(std::string_view value);
/// What escaped_value, or a form, made of a text: %XX, and '+' for a blank. What is no escape stays.
std::string unescaped_value(std::string_view text);
/// What escaped_key made of a text: '+' is one.
std::string unescaped_key(std::string_view text);

}  // namespace tare

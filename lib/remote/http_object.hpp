// What is asked for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/remote/s3_settings.hpp"
#include "lib/remote/url.hpp"

namespace tare {

/// What is wanted of an object, or to become of it.
struct HttpRequest {
  std::optional<Span> range = {};  ///< all of it where there is none
  std::uint64_t most_bytes = 0;    ///< what is longer is not read further
  const char* method = "GET";
  ByteView body = {};                   ///< sent with PUT and POST
  std::vector<std::string> lines = {};  ///< of the header, besides those that the object itself gives
};

/// All header lines of a request, its own among them.
using HeaderLinesOf = std::function<std::vector<std::string>(const HttpRequest& request)>;

/// One object: where it is, and how a request for it is signed.
struct HttpObject {
  std::string name;     ///< what messages call it
  std::string url;      ///< http or https, with the query
  S3Object s3;          ///< what `url` leads to, if it is in S3; else of no bucket
  S3Settings settings;  ///< for S3
  std::string bearer;   ///< a token that goes to the host of `url`, and to no other that it leads to; may be empty
  HeaderLinesOf header_lines;  ///< likewise, what is made anew for each request: another signature; may be empty
  /// What to do where reading it is forbidden.
  const char* hint = "give credentials in ~/.netrc or in the URL; answers leave out a URL's password and query";
  std::string query;  ///< of a request to S3, as it is signed: with '?', sorted and escaped; empty where there is none
};

/// `url`, asked for with `lines` in the header, and nothing that is signed.
inline HttpObject asked_with(std::string name, std::string url, std::vector<std::string> lines) {
  HttpObject object;
  object.name = std::move(name);
  object.url = std::move(url);
  object.header_lines = [lines = std::move(lines)](const HttpRequest&) { return lines; };
  return object;
}

}  // namespace tare

// Ranges of objects, over HTTP. The only thing here that knows libcurl.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/remote/s3_settings.hpp"
#include "lib/remote/url.hpp"

namespace tare {

/// One object: where it is, and how a request for it is signed.
struct HttpObject {
  std::string name;     ///< what messages call it
  std::string url;      ///< http or https
  S3Object s3;          ///< what `url` leads to, if it is in S3; else of no bucket
  S3Settings settings;  ///< for S3
};

/// Where S3 keeps it: at the bucket's own host, below the endpoint where the settings name one.
std::string s3_url(const S3Object& object, const S3Settings& settings);

struct HttpRange {
  Bytes bytes;              ///< shorter than what was asked for where the object ends
  std::uint64_t total = 0;  ///< bytes of the whole object
  std::string version;      ///< its ETag or date, to see whether it changes; may be empty
};

/// May be used by several threads at once. Connections are kept and used again.
class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// The bytes of `range` that are there. Tries again, three times, where a server is busy or a connection breaks; a
  /// region that S3 names is put into `object`. Throws `not_found` (404), `io` for all else (EACCES where the server
  /// does not let us read it), `unsupported` for a server that sends more than the range.
  HttpRange get(HttpObject& object, Span range) const;

 private:
  struct Connection;
  class Lease;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace tare

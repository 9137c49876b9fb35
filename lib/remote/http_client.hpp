// Ranges of objects, over HTTP, within what a command may ask for in all.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/remote/http_connection.hpp"
#include "lib/remote/http_object.hpp"
#include "lib/remote/remote_limits.hpp"
#include "lib/remote/route.hpp"

namespace tare {

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
  explicit HttpClient(const RemoteLimits& limits = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// The bytes of `range` that are there. Tries again, three times, where a server is busy or a connection breaks; a
  /// region that S3 names is put into `object`. Throws `not_found` (404), `refused` for a redirect that must not be
  /// followed, `io` for all else (EACCES where the server does not let us read it; other bytes than were asked for; the
  /// limits are reached), `unsupported` for a server that sends more than the range.
  HttpRange get(HttpObject& object, Span range) const;

 private:
  class Lease;

  std::string follow(const HttpConnection& connection, const HttpObject& object, Span range, HttpAnswer& answer) const;

  mutable RemoteBudget budget_;
  mutable HostPlaces hosts_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<HttpConnection>> idle_;
};

}  // namespace tare

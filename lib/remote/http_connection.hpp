// One request to a server at a time. This and the loop are all here that knows libcurl.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/remote/http_loop.hpp"
#include "lib/remote/http_object.hpp"
#include "lib/remote/route.hpp"

namespace tare {

/// What comes back: the headers of the last answer, and the body.
struct HttpAnswer {
  std::uint64_t wanted = 0;
  Bytes body;
  std::string content_range, etag, date, region, link;
  std::string now;                 ///< by the server's clock
  std::string kept;                ///< the bucket's name for this version
  std::vector<std::string> lines;  ///< of the whole header
  std::size_t header_bytes = 0;
  bool is_cut = false;  ///< the body is longer than what was wanted, and was not read further
  long status = 0;
  std::string redirect;    ///< where the server sends us instead; empty where it does not
  bool is_folder = false;  ///< that is the same path with a slash behind it, which is not gone to
};

/// Seconds since 1970 of a moment as servers write it; nothing where it is none.
std::optional<std::int64_t> http_time(const std::string& text);

/// Kept and used again for other requests, by one thread at a time; the connections themselves are the loop's.
class HttpConnection {
 public:
  /// `loop` outlives it.
  explicit HttpConnection(HttpLoop& loop);

  /// Asks for that of what `route` leads to, signed as `object` says, and follows nothing. Why no answer came;
  /// empty where one did.
  std::string ask(const HttpObject& object, const HttpRequest& request, std::chrono::milliseconds time, Route& route,
                  HttpAnswer& answer) const;

 private:
  struct Close {
    void operator()(void* opened) const;
  };
  HttpLoop& loop_;
  std::unique_ptr<void, Close> handle_;
};

}  // namespace tare

// Ranges of objects, over HTTP, within what a command may ask for in all.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/remote/http_connection.hpp"
#include "lib/remote/http_loop.hpp"
#include "lib/remote/http_object.hpp"
#include "lib/remote/remote_limits.hpp"
#include "lib/remote/route.hpp"

namespace tare {

/// Where S3 keeps it: at the bucket's own host, below the endpoint where the settings name one; or as their style says.
std::string s3_url(const S3Object& object, const S3Settings& settings);

struct HttpRange {
  Bytes bytes;              ///< shorter than what was asked for where the object ends
  std::uint64_t total = 0;  ///< bytes of the whole object
  std::string version;      ///< its ETag or date, to see whether it changes; may be empty
};

/// May be used by several threads at once, as many of which ask at the same time as the limits say. Connections are
/// kept and used again.
class HttpClient {
 public:
  explicit HttpClient(const RemoteLimits& limits = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] const RemoteLimits& limits() const { return budget_.limits(); }
  void allow_for(std::size_t listed_objects) const { budget_.allow_for(listed_objects); }
  /// How many more could ask now at the same time; 1 at least.
  [[nodiscard]] std::size_t spare() const;

  /// The bytes of `range` that are there. Tries again, three times, where a server is busy or a connection breaks; a
  /// region that S3 names is put into `object`. Throws `not_found` (404), `refused` for a redirect that must not be
  /// followed, `io` for all else (EACCES where the server does not let us read it; other bytes than were asked for; the
  /// limits are reached), `unsupported` for a server that sends more than the range.
  HttpRange get(HttpObject& object, Span range) const;
  /// The same of any request, tried again as get() is. A request that changes something may have done so before its
  /// answer was lost: then the second attempt is told that what it asks for no longer holds.
  HttpAnswer ask(HttpObject& object, const HttpRequest& request) const;
  /// All of a short answer, whatever its status; throws `io` where there is none, or it is longer than `most_bytes`.
  HttpAnswer get_whole(HttpObject& object, std::uint64_t most_bytes) const;
  /// Asks a service of this machine's own network once, which answers within a second, or is not there: nothing.
  /// Follows no redirect, and throws `io` for more bytes than are wanted.
  std::optional<HttpAnswer> ask_nearby(const HttpObject& object, const HttpRequest& request) const;

 private:
  class Lease;

  HttpAnswer answer_of(HttpObject& object, const HttpRequest& request) const;
  /// Where an object's host led; good for as long as the server there gives it.
  struct Lead {
    std::string url;
    NetAddress home;
  };

  std::string follow(const HttpConnection& connection, const HttpObject& object, const HttpRequest& request,
                     HttpAnswer& answer) const;
  /// Asks where `route` leads, step by step.
  std::string walk(const HttpConnection& connection, const HttpObject& object, const HttpRequest& request, Route& route,
                   HttpAnswer& answer) const;
  [[nodiscard]] std::optional<Lead> lead_of(const HttpObject& object, const HttpRequest& request) const;
  void keep_lead(const HttpObject& object, const Route& route, const HttpAnswer& answer) const;
  bool has_moved(HttpObject& object, const HttpAnswer& answer) const;
  void move_to_known_region(HttpObject& object) const;

  mutable RemoteBudget budget_;
  mutable std::counting_semaphore<> turns_;  ///< of requests under way
  mutable std::atomic<std::size_t> under_way_ = 0;
  mutable HostPlaces hosts_;
  mutable std::map<std::string, std::string> regions_;  ///< of buckets that were found elsewhere; under the mutex
  mutable std::map<std::string, Lead> leads_;           ///< by the object's URL; likewise
  mutable std::mutex mutex_;
  mutable HttpLoop loop_;
  mutable std::vector<std::unique_ptr<HttpConnection>> idle_;
};

}  // namespace tare

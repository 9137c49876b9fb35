#include "lib/remote/http_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <random>
#include <string_view>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/remote/aws_hosts.hpp"
#include "lib/remote/content_range.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/store_objects.hpp"

namespace tare {
namespace {

constexpr int most_attempts = 4;
constexpr auto first_pause = std::chrono::milliseconds(200);
constexpr int most_redirects = 5;
constexpr std::uint64_t most_whole_bytes = std::uint64_t{64} << 10;
constexpr auto busy_statuses = std::to_array<long>({408, 429, 500, 502, 503, 504});

/// Amazon's hosts are named after bucket and region; a dot in the bucket's name would break their certificates.
bool is_host_name(const std::string& bucket) {
  return bucket.find('.') == bucket.npos && bucket.find('_') == bucket.npos;
}

bool is_in_path(const S3Object& object, const S3Settings& settings) {
  if (settings.style != S3Settings::Style::usual) return settings.style == S3Settings::Style::path;
  return !settings.endpoint.empty() || !is_host_name(object.bucket);
}

std::string s3_host(const S3Object& object, const S3Settings& settings) {
  const std::string service =
      settings.endpoint.empty() ? s3_service(settings.hosts, settings.region) : settings.endpoint;
  if (is_in_path(object, settings)) return fmt::format("{}/{}", service, object.bucket);
  const std::size_t host = std::min(service.find("://"), service.size() - 3) + 3;
  return fmt::format("{}{}.{}", service.substr(0, host), object.bucket, service.substr(host));
}

/// From half of it to all of it: many who were sent away at once do not come back at once.
std::chrono::milliseconds jittered(std::chrono::milliseconds pause) {
  thread_local std::minstd_rand random{std::random_device()()};
  return std::chrono::milliseconds(std::uniform_int_distribution(pause.count() / 2, pause.count())(random));
}

}  // namespace

/// A connection for the time of one request.
class HttpClient::Lease {
 public:
  explicit Lease(const HttpClient& client) : client_(client), turn_(client.turns_) {
    ++client_.under_way_;
    const std::lock_guard lock(client_.mutex_);
    if (client_.idle_.empty()) {
      connection_ = std::make_unique<HttpConnection>(client_.loop_);
    } else {
      connection_ = std::move(client_.idle_.back());
      client_.idle_.pop_back();
    }
  }
  ~Lease() {
    --client_.under_way_;
    const std::lock_guard lock(client_.mutex_);
    client_.idle_.push_back(std::move(connection_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  const HttpConnection& operator*() const { return *connection_; }

 private:
  struct Turn {
    explicit Turn(std::counting_semaphore<>& turns) : turns_(turns) { turns_.acquire(); }
    ~Turn() { turns_.release(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::counting_semaphore<>& turns_;
  };

  const HttpClient& client_;
  Turn turn_;
  std::unique_ptr<HttpConnection> connection_;
};

std::string s3_url(const S3Object& object, const S3Settings& settings) {
  return fmt::format("{}/{}", s3_host(object, settings), escaped_key(object.key));
}

HttpClient::HttpClient(const RemoteLimits& limits)
    : budget_(limits), turns_(static_cast<std::ptrdiff_t>(limits.at_once)) {}

std::size_t HttpClient::spare() const {
  const std::size_t all = limits().at_once;
  return all - std::min(under_way_.load(), all - 1);
}

namespace {

[[noreturn]] void fail(const HttpObject& object, const HttpAnswer& answer) {
  const bool is_absent = answer.status == http::not_found;
  const bool may_not = is_forbidden(answer);
  const bool is_in_store = !object.s3.bucket.empty();
  throw Error(is_absent ? Status::not_found : Status::io,
              fmt::format("{}: the server answers {}{}", object.name, status_and_code(answer),
                          is_absent ? ", no such object" : ""),
              may_not       ? object.hint
              : is_in_store ? hint_of(answer)
                            : "",
              may_not ? EACCES : 0);
}

[[noreturn]] void fail_range(const HttpObject& object, Span range, const HttpAnswer& answer) {
  throw Error(Status::io,
              fmt::format("{}: bytes {} to {} are asked for, and the server answers with \"{}\" and {} bytes",
                          object.name, range.offset, range.end() - 1, answer.content_range, answer.body.size()));
}

/// Asked where a range does not say how large the object is.
using SizeOf = std::function<std::optional<std::uint64_t>()>;

/// The whole range, or as much of it as the object has. How many bytes that is.
std::uint64_t require_range(const HttpObject& object, Span range, const HttpAnswer& answer, const SizeOf& size_of) {
  const auto sent = parse_content_range(answer.content_range);
  if (!sent || answer.is_cut || sent->range.offset != range.offset || sent->range.size != answer.body.size()) {
    fail_range(object, range, answer);
  }
  const auto total = sent->total ? sent->total : size_of();  // less than asked for may be what a proxy cuts it down to
  if (!total || sent->range.end() != std::min(range.end(), *total)) fail_range(object, range, answer);
  return *total;
}

HttpRange taken(const HttpObject& object, Span range, HttpAnswer answer, const SizeOf& size_of) {
  if (answer.is_folder) throw Error(Status::not_found, object.name + ": is a folder, no object");
  HttpRange found;
  found.version = answer.etag.empty() ? answer.date : answer.etag;
  if (answer.status == http::range_not_satisfiable) {
    const auto sent = parse_content_range(answer.content_range);
    found.total = sent ? sent->total.value_or(0) : 0;
    return found;
  }
  if (answer.status == http::ok && range.offset == 0 && !answer.is_cut) {
    found.total = answer.body.size();  // small enough to be sent whole
  } else if (answer.status == http::ok) {
    throw Error(Status::unsupported,
                fmt::format("{}: the server sends all of it where a range is asked for", object.name),
                "download it, or put it where ranges are served");
  } else if (answer.status != http::partial_content) {
    fail(object, answer);
  } else {
    found.total = require_range(object, range, answer, size_of);
  }
  found.bytes = std::move(answer.body);
  return found;
}

/// Does it hold what was asked for?
bool is_given(const HttpAnswer& answer) {
  return answer.status == http::partial_content || answer.status == http::ok ||
         answer.status == http::range_not_satisfiable;
}

void move(HttpObject& object, const std::string& region) {
  object.settings.region = region;
  object.url = s3_url(object.s3, object.settings) + object.query;
}

}  // namespace

/// Does the answer say that the bucket is in another region? Then `object`, and all of that bucket, is there from now
/// on.
bool HttpClient::has_moved(HttpObject& object, const HttpAnswer& answer) const {
  if (object.s3.bucket.empty() || answer.status < 300) return false;
  if (answer.region.empty() || answer.region == object.settings.region) return false;
  const std::lock_guard lock(mutex_);
  regions_[object.s3.bucket] = answer.region;
  move(object, answer.region);
  return true;
}

void HttpClient::move_to_known_region(HttpObject& object) const {
  if (object.s3.bucket.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto known = regions_.find(object.s3.bucket);
  if (known != regions_.end() && known->second != object.settings.region) move(object, known->second);
}

HttpAnswer HttpClient::answer_of(HttpObject& object, const HttpRequest& request) const {
  const Lease connection(*this);
  move_to_known_region(object);
  auto pause = first_pause;
  for (int attempt = 1;; ++attempt) {
    HttpAnswer answer;
    const std::string problem = follow(*connection, object, request, answer);
    const bool is_over = problem.empty();
    const bool is_busy = std::find(busy_statuses.begin(), busy_statuses.end(), answer.status) != busy_statuses.end();
    if (is_over && attempt < most_attempts && has_moved(object, answer)) continue;
    if (is_over && !is_busy) return answer;
    if (attempt == most_attempts) {
      if (is_over) fail(object, answer);
      throw Error(Status::io, fmt::format("{}: {}", object.name, problem),
                  "see whether the address is right and the network is there");
    }
    std::this_thread::sleep_for(jittered(pause));
    pause *= 3;
  }
}

HttpRange HttpClient::get(HttpObject& object, Span range) const {
  // A server without ranges sends all: of a small object that is as good.
  const std::uint64_t most_bytes = range.offset == 0 ? std::max(range.size, most_whole_bytes) : range.size;
  const auto size_of = [&]() -> std::optional<std::uint64_t> {
    const HttpAnswer head = answer_of(object, {.most_bytes = 0, .method = "HEAD"});
    const auto line = std::ranges::find(head.lines, "content-length", name_of_line);
    return line == head.lines.end() ? std::nullopt : std::optional(number_of_line(*line));
  };
  return taken(object, range, answer_of(object, {range, most_bytes}), size_of);
}

HttpAnswer HttpClient::get_whole(HttpObject& object, std::uint64_t most_bytes) const {
  return ask(object, {std::nullopt, most_bytes});
}

HttpAnswer HttpClient::ask(HttpObject& object, const HttpRequest& request) const {
  HttpAnswer answer = answer_of(object, request);
  if (!answer.is_cut) return answer;
  throw Error(Status::io,
              fmt::format("{}: the server answers with more than {} bytes", object.name, request.most_bytes));
}

std::optional<HttpAnswer> HttpClient::ask_nearby(const HttpObject& object, const HttpRequest& request) const {
  constexpr auto soon = std::chrono::milliseconds(1000);
  const Lease connection(*this);
  Route route(hosts_, object.name, object.url, budget_.limits().private_redirects);
  HttpAnswer answer;
  const std::string problem =
      (*connection).ask(object, request, std::min(soon, budget_.take(object.name)), route, answer);
  route.require_allowed();
  if (!problem.empty()) return std::nullopt;
  if (!answer.is_cut) return answer;
  throw Error(Status::io,
              fmt::format("{}: the server answers with more than {} bytes", object.name, request.most_bytes));
}

std::string HttpClient::follow(const HttpConnection& connection, const HttpObject& object, const HttpRequest& request,
                               HttpAnswer& answer) const {
  const auto make_route = [&] { return Route(hosts_, object.name, object.url, budget_.limits().private_redirects); };
  if (const auto lead = lead_of(object, request)) {
    Route known = make_route();
    known.go_on_from(lead->url, lead->home);
    const std::string problem = walk(connection, object, request, known, answer);
    if (problem.empty() && is_given(answer)) return problem;
    const std::lock_guard lock(mutex_);
    leads_.erase(object.url);  // such a way is open for some time
  }
  Route route = make_route();
  const std::string problem = walk(connection, object, request, route, answer);
  if (problem.empty()) keep_lead(object, route, answer);
  return problem;
}

std::optional<HttpClient::Lead> HttpClient::lead_of(const HttpObject& object, const HttpRequest& request) const {
  if (!request.range) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto known = leads_.find(object.url);
  return known == leads_.end() ? std::nullopt : std::optional(known->second);
}

void HttpClient::keep_lead(const HttpObject& object, const Route& route, const HttpAnswer& answer) const {
  if (route.url() == object.url || !is_given(answer) || !route.home_address()) return;
  const std::lock_guard lock(mutex_);
  leads_.insert_or_assign(object.url, Lead{route.url(), *route.home_address()});
}

std::string HttpClient::walk(const HttpConnection& connection, const HttpObject& object, const HttpRequest& request,
                             Route& route, HttpAnswer& answer) const {
  for (int step = 0;; ++step) {
    answer = {};
    std::string problem = connection.ask(object, request, budget_.take(object.name), route, answer);
    route.require_allowed();
    if (answer.redirect.empty() || !request.body.empty()) return problem;  // what is sent goes to no other
    const auto place_of = [](const std::string& url) { return unescaped_key(shown_url(url)); };
    answer.is_folder = place_of(answer.redirect) == place_of(route.url()) + '/';
    if (answer.is_folder) return problem;
    if (step == most_redirects) {
      throw Error(Status::io, fmt::format("{}: the server leads on and on: {} redirects", object.name, step + 1));
    }
    route.go_to(answer.redirect);
  }
}

}  // namespace tare

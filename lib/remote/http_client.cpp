#include "lib/remote/http_client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string_view>
#include <thread>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr int most_attempts = 4;
constexpr auto first_pause = std::chrono::milliseconds(200);
constexpr long connect_seconds = 10;
constexpr long stalled_seconds = 30;  ///< without a byte
constexpr long most_redirects = 5;

/// The body of a GET, which S3 wants to see signed.
constexpr std::string_view sha256_of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

constexpr long partial_content = 206, ok = 200, range_not_satisfiable = 416;
constexpr auto busy_statuses = std::to_array<long>({408, 429, 500, 502, 503, 504});

/// What comes back: headers of the last answer (those of redirects are forgotten), and the body.
struct Answer {
  std::uint64_t wanted = 0;
  Bytes body;
  std::string content_range, content_length, etag, date, region;
  bool is_cut = false;  ///< the body is longer than what was wanted, and was not read further
};

struct HeaderField {
  std::string_view name;
  std::string Answer::*value;
};

constexpr HeaderField header_fields[] = {
    {"content-range", &Answer::content_range}, {"content-length", &Answer::content_length}, {"etag", &Answer::etag},
    {"last-modified", &Answer::date},          {"x-amz-bucket-region", &Answer::region},
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::size_t on_header(const char* text, std::size_t size, std::size_t count, void* data) {
  auto& answer = *static_cast<Answer*>(data);
  std::string_view line(text, size * count);
  if (line.starts_with("HTTP/")) {
    for (const HeaderField& field : header_fields) (answer.*field.value).clear();
    answer.body.clear();
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return size * count;
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value = value.substr(0, value.find_last_not_of(" \t\r\n") + 1);
  for (const HeaderField& field : header_fields) {
    const bool is_it = std::equal(name.begin(), name.end(), field.name.begin(), field.name.end(),
                                  [](char a, char b) { return lower(a) == b; });
    if (is_it) answer.*field.value = value;
  }
  return size * count;
}

std::size_t on_body(const char* text, std::size_t size, std::size_t count, void* data) {
  auto& answer = *static_cast<Answer*>(data);
  const ByteView bytes = as_bytes({text, size * count});
  const std::size_t room = answer.wanted - answer.body.size();
  const std::size_t taken = std::min(room, bytes.size());
  answer.body.insert(answer.body.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
  answer.is_cut = taken < bytes.size();
  return answer.is_cut ? 0 : bytes.size();  // another count than it was given ends the transfer
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Amazon's hosts are named after bucket and region; a dot in the bucket's name would break their certificates.
std::string s3_host(const S3Object& object, const S3Settings& settings) {
  const bool is_host_name =
      object.bucket.find('.') == std::string::npos && object.bucket.find('_') == std::string::npos;
  if (!settings.endpoint.empty()) return fmt::format("{}/{}", settings.endpoint, object.bucket);
  if (!is_host_name) return fmt::format("https://s3.{}.amazonaws.com/{}", settings.region, object.bucket);
  return fmt::format("https://{}.s3.{}.amazonaws.com", object.bucket, settings.region);
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

struct HttpClient::Connection {
  struct Close {
    void operator()(CURL* opened) const { curl_easy_cleanup(opened); }
  };
  std::unique_ptr<CURL, Close> handle{curl_easy_init()};

  /// Returns libcurl's verdict; the server's is in `status`.
  CURLcode ask(const HttpObject& object, Span range, Answer& answer, long& status) const;
};

CURLcode HttpClient::Connection::ask(const HttpObject& object, Span range, Answer& answer, long& status) const {
  CURL* const curl = handle.get();
  curl_easy_reset(curl);
  answer.wanted = range.size;
  const std::string wanted = fmt::format("{}-{}", range.offset, range.end() - 1);
  std::unique_ptr<curl_slist, FreeList> headers;
  curl_easy_setopt(curl, CURLOPT_URL, object.url.c_str());
  curl_easy_setopt(curl, CURLOPT_RANGE, wanted.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, object.s3.bucket.empty() ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, most_redirects);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stalled_seconds);
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tare");
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  if (!object.settings.access_key.empty()) {
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, fmt::format("aws:amz:{}:s3", object.settings.region).c_str());
    curl_easy_setopt(curl, CURLOPT_USERNAME, object.settings.access_key.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, object.settings.secret_key.c_str());
    std::vector<std::string> lines = {fmt::format("x-amz-content-sha256: {}", sha256_of_nothing)};
    const std::string& token = object.settings.session_token;
    if (!token.empty()) lines.push_back(fmt::format("x-amz-security-token: {}", token));
    for (const std::string& line : lines) headers.reset(curl_slist_append(headers.release(), line.c_str()));
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  }
  const CURLcode result = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return result;
}

/// A connection for the time of one request.
class HttpClient::Lease {
 public:
  explicit Lease(const HttpClient& client) : client_(client) {
    const std::lock_guard lock(client_.mutex_);
    if (client_.idle_.empty()) {
      connection_ = std::make_unique<Connection>();
    } else {
      connection_ = std::move(client_.idle_.back());
      client_.idle_.pop_back();
    }
  }
  ~Lease() {
    const std::lock_guard lock(client_.mutex_);
    client_.idle_.push_back(std::move(connection_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  const Connection* operator->() const { return connection_.get(); }

 private:
  const HttpClient& client_;
  std::unique_ptr<Connection> connection_;
};

std::string s3_url(const S3Object& object, const S3Settings& settings) {
  return fmt::format("{}/{}", s3_host(object, settings), escaped_key(object.key));
}

HttpClient::HttpClient() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw Error(Status::io, fmt::format("libcurl: {}", curl_easy_strerror(ready)));
}

HttpClient::~HttpClient() = default;

namespace {

[[noreturn]] void fail(const HttpObject& object, long status) {
  const bool is_absent = status == 404;
  const bool is_forbidden = status == 401 || status == 403;
  const char* hint = object.s3.bucket.empty() ? "give credentials in ~/.netrc or in the URL"
                                              : "it is not there, or these AWS credentials (or none) may not read it";
  throw Error(is_absent ? Status::not_found : Status::io,
              fmt::format("{}: the server answers {}{}", object.name, status, is_absent ? ", no such object" : ""),
              is_forbidden ? hint : "", is_forbidden ? EACCES : 0);
}

/// "bytes 0-511/4395236853"
std::uint64_t total_of(std::string_view content_range) {
  const std::size_t slash = content_range.find('/');
  return slash == content_range.npos ? 0 : number_in(content_range.substr(slash + 1));
}

HttpRange taken(const HttpObject& object, Span range, Answer answer, long status) {
  HttpRange found;
  found.version = answer.etag.empty() ? answer.date : answer.etag;
  found.total = total_of(answer.content_range);
  if (status == range_not_satisfiable) return found;
  if (status == ok && range.offset == 0 && !answer.is_cut) {
    found.total = answer.body.size();  // small enough to be sent whole
  } else if (status == ok) {
    throw Error(Status::unsupported,
                fmt::format("{}: the server sends all of it where a range is asked for", object.name),
                "download it, or put it where ranges are served");
  } else if (status != partial_content) {
    fail(object, status);
  }
  found.bytes = std::move(answer.body);
  return found;
}

/// Does the answer say that the bucket is in another region? Then `object` is there from now on.
bool has_moved(HttpObject& object, const Answer& answer, long status) {
  if (object.s3.bucket.empty() || status < 300) return false;
  if (answer.region.empty() || answer.region == object.settings.region) return false;
  object.settings.region = answer.region;
  object.url = s3_url(object.s3, object.settings);
  return true;
}

}  // namespace

HttpRange HttpClient::get(HttpObject& object, Span range) const {
  const Lease connection(*this);
  auto pause = first_pause;
  for (int attempt = 1;; ++attempt) {
    Answer answer;
    long status = 0;
    const CURLcode result = connection->ask(object, range, answer, status);
    const bool is_over = result == CURLE_OK || (result == CURLE_WRITE_ERROR && answer.is_cut);
    const bool is_busy = std::find(busy_statuses.begin(), busy_statuses.end(), status) != busy_statuses.end();
    if (is_over && attempt < most_attempts && has_moved(object, answer, status)) continue;
    if (is_over && !is_busy) return taken(object, range, std::move(answer), status);
    if (attempt == most_attempts) {
      if (is_over) fail(object, status);
      throw Error(Status::io, fmt::format("{}: {}", object.name, curl_easy_strerror(result)),
                  "see whether the address is right and the network is there");
    }
    std::this_thread::sleep_for(pause);
    pause *= 3;
  }
}

}  // namespace tare

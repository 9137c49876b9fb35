#include "lib/remote/http_connection.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"
#include "lib/remote/inside.hpp"
#include "lib/remote/s3_signature.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr long connect_seconds = 10;
constexpr long stalled_seconds = 30;  ///< with fewer bytes in each than:
constexpr long least_bytes_a_second = 1024;
constexpr std::size_t most_header_bytes = std::size_t{256} << 10;

struct HeaderField {
  std::string_view name;
  std::string HttpAnswer::*value;
};

constexpr HeaderField header_fields[] = {
    {"content-range", &HttpAnswer::content_range},
    {"etag", &HttpAnswer::etag},
    {"link", &HttpAnswer::link},
    {"last-modified", &HttpAnswer::date},
    {"x-amz-bucket-region", &HttpAnswer::region},
    {"date", &HttpAnswer::now},
    {"x-amz-version-id", &HttpAnswer::kept},
};

std::size_t on_header(const char* text, std::size_t size, std::size_t count, void* data) {
  auto& answer = *static_cast<HttpAnswer*>(data);
  std::string_view line(text, size * count);
  answer.header_bytes += line.size();
  if (answer.header_bytes > most_header_bytes) return 0;  // ends the transfer
  if (line.starts_with("HTTP/")) {
    for (const HeaderField& field : header_fields) (answer.*field.value).clear();
    answer.body.clear();
    answer.lines.clear();
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return size * count;
  answer.lines.emplace_back(line.substr(0, line.find_last_not_of("\r\n") + 1));
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value = value.substr(0, value.find_last_not_of(" \t\r\n") + 1);
  for (const HeaderField& field : header_fields) {
    const bool is_it = std::equal(name.begin(), name.end(), field.name.begin(), field.name.end(),
                                  [](char a, char b) { return small_letter(a) == b; });
    if (is_it) answer.*field.value = value;
  }
  return size * count;
}

std::size_t on_body(const char* text, std::size_t size, std::size_t count, void* data) {
  auto& answer = *static_cast<HttpAnswer*>(data);
  const ByteView bytes = as_bytes({text, size * count});
  const std::size_t room = answer.wanted - answer.body.size();
  const std::size_t taken = std::min(room, bytes.size());
  answer.body.insert(answer.body.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
  answer.is_cut = taken < bytes.size();
  return answer.is_cut ? 0 : bytes.size();  // another count than it was given ends the transfer
}

/// Of a line of a header: what stands behind it may be a secret.
std::string_view name_in(std::string_view line) {
  return line.substr(0, line.find_first_of(":\r\n"));
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

using HeaderLines = std::unique_ptr<curl_slist, FreeList>;

/// The lines are to be kept until the request is sent. Throws `refused` for one that would be two.
HeaderLines say(CURL* curl, const std::vector<std::string>& lines) {
  HeaderLines headers;
  for (const std::string& line : lines) {
    if (line.find_first_of("\r\n") != line.npos) {
      throw Error(Status::refused, fmt::format("{}: a line of a request has a line break in it", name_in(line)),
                  "see whether a key or a token, or the file that has it, is what it should be");
    }
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  return headers;
}

/// As S3 wants it, the body with it.
HeaderLines sign(CURL* curl, const S3Settings& settings, const HttpRequest& request, const std::string& url) {
  std::vector<std::string> lines;
  if (settings.pays) lines.emplace_back("x-amz-request-payer: requester");
  if (!settings.session_token.empty()) {
    lines.push_back(fmt::format("x-amz-security-token: {}", settings.session_token));
  }
  lines.insert(lines.end(), request.lines.begin(), request.lines.end());
  return say(curl, signed_lines(settings, {request.method, url, request.body, std::move(lines)}, std::time(nullptr)));
}

/// A method of its own, and a body, which goes at once: nobody is asked whether it may.
void set_method(CURL* curl, const HttpRequest& request) {
  const std::string_view method = request.method;
  if (method == "GET") return;
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method);
  if (method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (method != "PUT" && method != "POST") return;
  curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.empty() ? "" : as_text(request.body).data());
}

/// Of those who vouch for servers, where it is not the system's.
const std::string& trusted_file() {
  static const std::string found = [] {
    for (const char* name : {"AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
      const char* value = std::getenv(name);
      if (value != nullptr && *value != '\0') return std::string(value);
    }
    return std::string();
  }();
  return found;
}

/// Before a connection is made.
curl_socket_t on_open(void* data, curlsocktype, curl_sockaddr* to) {
  const auto address = address_of(to->addr);
  if (!address || !static_cast<Route*>(data)->allows(*address)) return CURL_SOCKET_BAD;
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/// Before a request is sent, also over a connection that was made for another one.
int on_request(void* data, char* address_text, char*, int port, int) {
  const auto address = address_of(address_text, static_cast<std::uint16_t>(port));
  const bool is_allowed = address && static_cast<Route*>(data)->takes(*address);
  return is_allowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

}  // namespace

std::optional<std::int64_t> http_time(const std::string& text) {
  const std::time_t time = curl_getdate(text.c_str(), nullptr);
  if (time == -1) return std::nullopt;
  return time;
}

HttpConnection::HttpConnection(HttpLoop& loop) : loop_(loop) {
  handle_.reset(curl_easy_init());
  if (handle_ == nullptr) throw Error(Status::io, "libcurl cannot be started");
}

void HttpConnection::Close::operator()(void* opened) const {
  curl_easy_cleanup(opened);
}

std::string HttpConnection::ask(const HttpObject& object, const HttpRequest& request, std::chrono::milliseconds time,
                                Route& route, HttpAnswer& answer) const {
  CURL* const curl = handle_.get();
  curl_easy_reset(curl);
  answer.wanted = request.most_bytes;
  curl_easy_setopt(curl, CURLOPT_URL, route.url().c_str());
  // A store's key is no path: "a/../b" is another object than "b", and none of another bucket.
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, is_http(object.name) || is_https(object.name) ? 0L : 1L);
  if (request.range) {
    const std::string wanted = fmt::format("{}-{}", request.range->offset, request.range->end() - 1);
    curl_easy_setopt(curl, CURLOPT_RANGE, wanted.c_str());
  }
  set_method(curl, request);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);  // each step is judged by Route
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(time.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, least_bytes_a_second);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stalled_seconds);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, on_open);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &route);
  curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, on_request);
  curl_easy_setopt(curl, CURLOPT_PREREQDATA, &route);
  // A password goes to the host that the user named, and to no other that it leads to.
  const long netrc = route.is_at_home() ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED;
  curl_easy_setopt(curl, CURLOPT_NETRC, netrc);
  // Where one connection may turn out to carry all, a second one is not begun before that is known.
  curl_easy_setopt(curl, CURLOPT_PIPEWAIT, is_https(route.url()) ? 1L : 0L);
  if (const std::string& trusted = trusted_file(); !trusted.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, trusted.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tare");
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  HeaderLines headers;
  if (!object.settings.access_key.empty()) {
    headers = sign(curl, object.settings, request, route.url());
  } else if (!object.bearer.empty() && route.is_at_home()) {
    std::vector<std::string> lines = request.lines;
    lines.push_back(fmt::format("Authorization: Bearer {}", object.bearer));
    headers = say(curl, lines);
  } else if (object.header_lines && route.is_at_home()) {
    headers = say(curl, object.header_lines(request));
  } else if (!request.lines.empty()) {
    headers = say(curl, request.lines);
  }
  const auto result = static_cast<CURLcode>(loop_.perform(curl));
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  const char* redirect = nullptr;
  curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr && object.s3.bucket.empty()) answer.redirect = redirect;
  if (result == CURLE_OK || (result == CURLE_WRITE_ERROR && answer.is_cut)) return {};
  return curl_easy_strerror(result);
}

}  // namespace tare

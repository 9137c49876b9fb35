#include "lib/remote/s3_signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/hmac.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/sha256.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

Sha256Digest keyed(ByteView key, std::string_view text) {
  HmacSha256 hmac(key);
  hmac.add(as_bytes(text));
  return hmac.finish();
}

std::string hex(const Sha256Digest& digest) {
  std::string text;
  for (const std::byte byte : digest) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::string utc(std::time_t moment, const char* format) {
  std::tm parts{};
  ::gmtime_r(&moment, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), format, &parts));
  return text;
}

/// What Amazon and Google call the parts of one and the same signature.
struct Names {
  std::string_view algorithm, prefix, service, end;
};
constexpr Names of_amazon{"AWS4", "x-amz-", "s3", "aws4_request"};
constexpr Names of_google{"GOOG4", "x-goog-", "storage", "goog4_request"};
constexpr Names of_amazon_tokens{"AWS4", "x-amz-", "sts", "aws4_request"};

const Names& names_in(S3Settings::Signature signature) {
  switch (signature) {
    case S3Settings::Signature::google:
      return of_google;
    case S3Settings::Signature::amazon_tokens:
      return of_amazon_tokens;
    case S3Settings::Signature::amazon:
      break;
  }
  return of_amazon;
}

struct UrlParts {
  std::string_view host, path, query;
};

/// The host with its port, as a request names it: without the one that its scheme has anyway.
std::string_view host_named_in(std::string_view host, std::string_view scheme) {
  for (const auto& [of, port] : {std::pair(std::string_view("https"), std::string_view(":443")), {"http", ":80"}}) {
    if (scheme == of && host.ends_with(port)) host.remove_suffix(port.size());
  }
  return host;
}

UrlParts parts_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme + 3;
  const std::size_t path = std::min(url.find_first_of("/?", host), url.size());
  const std::size_t query = std::min(url.find('?', path), url.size());
  return {host_named_in(url.substr(host, path - host), url.substr(0, scheme)), url.substr(path, query - path),
          url.substr(std::min(query + 1, url.size()))};
}

/// Without the blanks around it; of several in a row one.
std::string folded(std::string_view value) {
  std::string text;
  for (const char c : trimmed(value)) {
    if (c != ' ' || !text.ends_with(' ')) text += c;
  }
  return text;
}

/// As it is signed, however it was spelt: each name with '=', all but unreserved characters as %XX, sorted.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto spelt = [](std::string_view text) { return escaped_value(unescaped_key(text)); };
    pairs.emplace_back(spelt(part.substr(0, equals)), spelt(part.substr(std::min(equals + 1, part.size()))));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string text;
  for (const auto& [name, value] : pairs) text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  return text;
}

}  // namespace

std::vector<std::string> signed_lines(const S3Settings& settings, const ToSign& request, std::time_t now) {
  const Names& names_of = names_in(settings.signature);
  const UrlParts url = parts_of(request.url);
  const std::string sum = sha256_of(request.body);
  const std::string moment = utc(now, "%Y%m%dT%H%M%SZ");
  const std::string day = moment.substr(0, 8);
  std::vector<std::string> lines = request.lines;
  lines.push_back(fmt::format("{}content-sha256: {}", names_of.prefix, sum));
  lines.push_back(fmt::format("{}date: {}", names_of.prefix, moment));
  std::map<std::string, std::string> headers{{"host", std::string(url.host)}};
  for (const std::string& line : lines) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    headers[in_small_letters(line.substr(0, colon))] =
        folded(std::string_view(line).substr(std::min(colon + 1, line.size())));
  }
  std::string named, names;
  for (const auto& [name, value] : headers) {
    named += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, url.path.empty() ? "/" : url.path,
                                            canonical_query(url.query), named, names, sum);
  const std::string scope = fmt::format("{}/{}/{}/{}", day, settings.region, names_of.service, names_of.end);
  const std::string text =
      fmt::format("{}-HMAC-SHA256\n{}\n{}\n{}", names_of.algorithm, moment, scope, sha256_of(as_bytes(canonical)));
  Sha256Digest key = keyed(as_bytes(fmt::format("{}{}", names_of.algorithm, settings.secret_key)), day);
  for (const std::string_view part : {std::string_view(settings.region), names_of.service, names_of.end}) {
    key = keyed(key, part);
  }
  lines.push_back(fmt::format("Authorization: {}-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                              names_of.algorithm, settings.access_key, scope, names, hex(keyed(key, text))));
  return lines;
}

}  // namespace tare

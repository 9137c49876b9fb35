#include "lib/remote/s3_signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/hmac.hpp"
#include "lib/base/sha256.hpp"

namespace tare {
namespace {

std::string sha256_of(ByteView bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.finish();
}

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

struct UrlParts {
  std::string_view host, path, query;
};

UrlParts parts_of(std::string_view url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = std::min(url.find('/', host), url.size());
  const std::size_t query = std::min(url.find('?', path), url.size());
  return {url.substr(host, path - host), url.substr(path, query - path), url.substr(std::min(query + 1, url.size()))};
}

}  // namespace

std::vector<std::string> signed_lines(const S3Settings& settings, const ToSign& request, std::time_t now) {
  const UrlParts url = parts_of(request.url);
  const std::string sum = sha256_of(request.body);
  const std::string moment = utc(now, "%Y%m%dT%H%M%SZ");
  const std::string day = moment.substr(0, 8);
  std::vector<std::string> lines = request.lines;
  lines.push_back("x-amz-content-sha256: " + sum);
  lines.push_back("x-amz-date: " + moment);
  std::map<std::string, std::string> headers{{"host", std::string(url.host)}};
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(": ");
    headers[line.substr(0, colon)] = line.substr(colon + 2);
  }
  std::string named, names;
  for (const auto& [name, value] : headers) {
    named += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, url.path, url.query, named, names, sum);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, settings.region);
  const std::string text = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", moment, scope, sha256_of(as_bytes(canonical)));
  Sha256Digest key = keyed(as_bytes("AWS4" + settings.secret_key), day);
  for (const std::string& part : {settings.region, std::string("s3"), std::string("aws4_request")})
    key = keyed(key, part);
  lines.push_back(fmt::format("Authorization: AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                              settings.access_key, scope, names, hex(keyed(key, text))));
  return lines;
}

}  // namespace tare

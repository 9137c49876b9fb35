#include "lib/remote/azure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/base/hmac.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/text.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/list_page.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::string_view version = "2020-10-02";
constexpr std::uint64_t most_azure_page_bytes = std::uint64_t{32} << 20;  // 5,000 names of 1,024 characters
/// Of those who may read blobs and not list them.
constexpr auto azure_not_listing = std::to_array<long>({401, 403, 404, 409});
/// Of the standard ones, in this order; those that are not sent are empty lines.
constexpr auto signed_headers = std::to_array<std::string_view>(
    {"content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
     "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"});
/// So long may a blob be read by whoever copies it for us: the store itself.
constexpr std::time_t seconds_of_access = 3600;
constexpr const char* azure_hint = "it is not there, or this key, signature or token (or none) may not read it";

/// "Name=value;..." of a connection string; values have '=' in them.
std::string part_of(std::string_view connection, std::string_view name) {
  while (!connection.empty()) {
    const std::string_view part = connection.substr(0, connection.find(';'));
    connection.remove_prefix(std::min(part.size() + 1, connection.size()));
    const std::size_t equals = part.find('=');
    if (equals != part.npos && trimmed(part.substr(0, equals)) == name) {
      return std::string(trimmed(part.substr(equals + 1)));
    }
  }
  return {};
}

AzureSettings of_connection(std::string_view connection) {
  AzureSettings settings{part_of(connection, "AccountName"), part_of(connection, "AccountKey"),
                         part_of(connection, "SharedAccessSignature"), "", part_of(connection, "BlobEndpoint")};
  const std::string suffix = part_of(connection, "EndpointSuffix");
  if (settings.endpoint.empty() && !settings.account.empty() && !suffix.empty()) {
    settings.endpoint = fmt::format("https://{}.blob.{}", settings.account, suffix);
  }
  return settings;
}

Bytes key_bytes(std::string_view key) {
  if (auto bytes = from_base64(key)) return *std::move(bytes);
  throw Error(Status::invalid_argument, "AZURE_STORAGE_KEY: not in base64", "take it as Azure shows it");
}

std::string signature(const std::string& key, const std::string& text) {
  HmacSha256 hmac(key_bytes(key));
  hmac.add(as_bytes(text));
  const Sha256Digest digest = hmac.finish();
  return base64(as_text(digest));
}

/// "name=value&..." as Azure signs it: a line each, sorted, unescaped.
std::string query_lines(std::string_view query) {
  std::vector<std::string> lines;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    lines.push_back(fmt::format("\n{}:{}", part.substr(0, equals),
                                unescaped_value(part.substr(std::min(equals + 1, part.size())))));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, ""));
}

std::string utc(std::time_t moment) {
  std::tm at{};
  ::gmtime_r(&moment, &at);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &at)};
}

std::string path_of_url(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  return url.substr(std::min(url.find('/', host), url.size()));
}

/// As HTTP has it: "Fri, 26 Jun 2015 23:39:12 GMT".
std::string date_now() {
  constexpr auto days = std::to_array<std::string_view>({"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"});
  constexpr auto months = std::to_array<std::string_view>(
      {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"});
  const std::time_t now = std::time(nullptr);
  std::tm at{};
  ::gmtime_r(&now, &at);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days.at(static_cast<std::size_t>(at.tm_wday)), at.tm_mday,
                     months.at(static_cast<std::size_t>(at.tm_mon)), at.tm_year + 1900, at.tm_hour, at.tm_min,
                     at.tm_sec);
}

/// The header lines of each request, as they are signed anew.
HeaderLinesOf header_lines(const AzureSettings& settings, const std::string& url_path, const std::string& query) {
  return [settings, url_path, query](const HttpRequest& request) {
    std::vector<std::string> lines = request.lines;
    lines.push_back(fmt::format("x-ms-version: {}", version));
    if (!settings.key.empty()) {
      const std::string date = date_now();
      const std::string text = azure_text_to_sign(settings, url_path, query, request, date);
      lines.push_back("x-ms-date: " + date);
      lines.push_back(fmt::format("Authorization: SharedKey {}:{}", settings.account, signature(settings.key, text)));
    } else if (settings.sas.empty() && !settings.token.empty()) {
      lines.push_back("Authorization: Bearer " + settings.token);
    }
    return lines;
  };
}

HttpObject asked_for(const AzureSettings& settings, const std::string& name, const S3Object& blob,
                     const std::string& query) {
  if (settings.account.empty() && settings.endpoint.empty()) {
    throw Error(Status::invalid_argument, name + ": nobody says in which account of Azure's that is",
                "set AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING");
  }
  HttpObject object;
  object.name = name;
  object.hint = azure_hint;
  object.url = fmt::format("{}/{}", settings.endpoint, blob.bucket);
  if (!blob.key.empty()) object.url += fmt::format("/{}", escaped_key(blob.key));
  object.header_lines = header_lines(settings, path_of_url(object.url), query);
  const std::string sas = settings.key.empty() ? settings.sas : "";
  if (!query.empty() || !sas.empty()) {
    object.url += fmt::format("?{}{}{}", query, query.empty() || sas.empty() ? "" : "&", sas);
  }
  return object;
}

}  // namespace

AzureSettings read_azure_settings(const Environment& environment) {
  AzureSettings settings = of_connection(environment("AZURE_STORAGE_CONNECTION_STRING"));
  const std::string account = environment("AZURE_STORAGE_ACCOUNT");
  if (!account.empty() && account != settings.account) settings = {.account = account};
  const auto prefer = [&](const char* name, std::string& value) {
    if (std::string given = environment(name); !given.empty()) value = std::move(given);
  };
  prefer("AZURE_STORAGE_KEY", settings.key);
  prefer("AZURE_STORAGE_SAS_TOKEN", settings.sas);
  prefer("AZURE_STORAGE_ACCESS_TOKEN", settings.token);
  prefer("AZURE_STORAGE_SERVICE_ENDPOINT", settings.endpoint);
  if (settings.sas.starts_with('?')) settings.sas.erase(0, 1);
  if (settings.endpoint.empty() && !settings.account.empty()) {
    settings.endpoint = fmt::format("https://{}.blob.core.windows.net", settings.account);
  }
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  return settings;
}

HttpObject azure_object(const AzureSettings& settings, const std::string& path, const std::string& query) {
  return asked_for(settings, path, parse_bucket(path), query.substr(std::min<std::size_t>(query.size(), 1)));
}

std::vector<std::string> azure_copy_lines(const AzureSettings& settings, const std::string& path) {
  const S3Object blob = parse_bucket(path);
  std::string url = asked_for(settings, path, blob, "").url;
  if (settings.key.empty()) {
    std::vector<std::string> lines{"x-ms-copy-source: " + url};
    const bool has_token = settings.sas.empty() && !settings.token.empty();
    if (has_token) lines.push_back("x-ms-copy-source-authorization: Bearer " + settings.token);
    return lines;
  }
  const std::string expiry = utc(std::time(nullptr) + seconds_of_access);
  const std::string sum = signature(settings.key, azure_access_to_sign(settings, blob, expiry));
  url += fmt::format("?sv={}&sr=b&sp=r&se={}&sig={}", version, escaped_value(expiry), escaped_value(sum));
  return {"x-ms-copy-source: " + url};
}

std::string azure_text_to_sign(const AzureSettings& settings, const std::string& url_path, const std::string& query,
                               const HttpRequest& request, const std::string& date) {
  std::map<std::string, std::string> given{{"x-ms-date", date}, {"x-ms-version", std::string(version)}};
  for (const std::string& line : request.lines) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    given[in_small_letters(line.substr(0, colon))] =
        trimmed(std::string_view(line).substr(std::min(colon + 1, line.size())));
  }
  if (request.range) given["range"] = fmt::format("bytes={}-{}", request.range->offset, request.range->end() - 1);
  if (!request.body.empty()) given["content-length"] = std::to_string(request.body.size());
  std::string text = fmt::format("{}\n", request.method);
  for (const std::string_view name : signed_headers) text += given[std::string(name)] + "\n";
  for (const auto& [name, value] : given) {
    if (name.starts_with("x-ms-")) text += fmt::format("{}:{}\n", name, value);
  }
  return text + fmt::format("/{}{}{}", settings.account, url_path, query_lines(query));
}

std::string azure_access_to_sign(const AzureSettings& settings, const S3Object& blob, const std::string& expiry) {
  // Rights, begin, end, what, policy, addresses, protocol, version, kind, snapshot, and five header lines of answers.
  return fmt::format("r\n\n{}\n/blob/{}/{}/{}\n\n\n\n{}\nb\n\n\n\n\n\n", expiry, settings.account, blob.bucket,
                     blob.key, version);
}

std::optional<ListPage> list_azure(const HttpClient& client, const AzureSettings& settings, const std::string& folder,
                                   ListDepth depth, const std::string& from) {
  S3Object container = parse_bucket(folder);
  const std::string prefix = container.key.empty() ? "" : container.key + "/";
  container.key.clear();
  std::string query = "comp=list";
  if (depth == ListDepth::level) query += "&delimiter=%2F";
  if (!from.empty()) query += "&marker=" + escaped_value(from);
  query += fmt::format("&prefix={}&restype=container", escaped_value(prefix));
  HttpObject asked = asked_for(settings, folder, container, query);
  const HttpAnswer answer = client.get_whole(asked, most_azure_page_bytes);
  if (std::find(azure_not_listing.begin(), azure_not_listing.end(), answer.status) != azure_not_listing.end())
    return std::nullopt;
  if (answer.status != http::ok) {
    throw Error(Status::io, fmt::format("{}: the server answers {} where it is to list", folder, answer.status));
  }
  auto page = parse_azure_page(folder, answer.body);
  if (!page) return std::nullopt;
  for (ListedObject& object : page->objects) object.key = key_below(object.key, prefix, folder);
  for (std::string& key : page->folders) key = key_below(key, prefix, folder);
  return page;
}

}  // namespace tare

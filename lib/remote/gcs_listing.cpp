#include "lib/remote/gcs_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/json/document.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/list_page.hpp"
#include "lib/remote/s3_listing.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

/// A thousand names of 1,024 bytes, each letter as \uXXXX, and what stands around them.
constexpr std::uint64_t most_google_page_bytes = std::uint64_t{8} << 20;
/// Of those who may read objects and not list them, of a server that has the XML API alone.
constexpr auto google_not_listing = std::to_array<long>({401, 403, 404, 405, 501});
constexpr std::size_t md5_bytes = 16;

std::string google_query(const std::string& prefix, ListDepth depth, const std::string& from) {
  std::string query = "?fields=nextPageToken,prefixes,items(name,size,md5Hash)&prefix=" + escaped_value(prefix);
  if (depth == ListDepth::level) query += "&delimiter=%2F";
  if (!from.empty()) query += "&pageToken=" + escaped_value(from);
  return query;
}

ListedObject object_of(const JsonValue& item, const std::string& prefix, const std::string& name) {
  ListedObject object{key_below(item.at("name").text(), prefix, name)};
  const std::string digits = item.at("size").word();
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), object.size);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
    throw Error(Status::corrupt, fmt::format("\"{}\" is no size", digits));
  }
  // What the ETag of an object is that was not composed.
  const auto sum = from_base64(item.find("md5Hash").text_or(""));
  if (!sum || sum->size() != md5_bytes) return object;
  for (const std::byte byte : *sum) object.tag += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return object;
}

}  // namespace

ListPage parse_google_page(const std::string& name, const std::string& prefix, ByteView json) {
  try {
    const JsonDocument document(json, name);
    const Tree& tree = document.tree();
    if (tree.kind(tree.root) != Kind::map) throw Error(Status::corrupt, "it is no object of JSON");
    const auto all = [&](const char* member) {  // which is left out where it would be empty
      return tree.find(tree.root, member) == nowhere ? std::vector<JsonValue>() : document.root().at(member).items();
    };
    ListPage page;
    page.next = document.root().find("nextPageToken").text_or("");
    for (const JsonValue& item : all("items")) page.objects.push_back(object_of(item, prefix, name));
    for (const JsonValue& folder : all("prefixes")) page.folders.push_back(key_below(folder.text(), prefix, name));
    return page;
  } catch (const Error& error) {
    if (error.status == Status::io) throw;
    throw Error(Status::io, fmt::format("{}: the server's listing breaks off: {}", name, error.what()));
  }
}

std::optional<ListPage> list_google(const HttpClient& client, const S3Settings& settings, const std::string& folder,
                                    ListDepth depth, const std::string& from) {
  if (!settings.access_key.empty()) return list_s3(client, settings, folder, depth, from);
  const S3Object wanted = parse_bucket(folder);
  const std::string prefix = wanted.key.empty() ? "" : wanted.key + "/";
  HttpObject asked;
  asked.name = folder;
  asked.url =
      fmt::format("{}/storage/v1/b/{}/o{}", settings.endpoint, wanted.bucket, google_query(prefix, depth, from));
  asked.bearer = settings.token;
  const HttpAnswer answer = client.get_whole(asked, most_google_page_bytes);
  if (std::ranges::find(google_not_listing, answer.status) != google_not_listing.end()) return std::nullopt;
  if (answer.status == http::ok) return parse_google_page(folder, prefix, answer.body);
  throw Error(Status::io, fmt::format("{}: the server answers {} where it is to list", folder, answer.status));
}

}  // namespace tare

#include "lib/remote/s3_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/list_page.hpp"
#include "lib/remote/store_objects.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

/// A thousand keys of 1,024 bytes, each as %XX, and what stands around them.
constexpr std::uint64_t most_s3_page_bytes = std::uint64_t{8} << 20;
/// Of those who may read objects and not list them, of gateways that know no lists.
constexpr auto s3_not_listing = std::to_array<long>({401, 403, 404, 405, 501});

/// Sorted, as a signature needs it.
std::string s3_query(const std::string& prefix, ListDepth depth, const std::string& from) {
  std::string query = "?";
  if (!from.empty()) query += fmt::format("continuation-token={}&", escaped_value(from));
  if (depth == ListDepth::level) query += "delimiter=%2F&";
  return query + fmt::format("encoding-type=url&list-type=2&prefix={}", escaped_value(prefix));
}

}  // namespace

std::optional<ListPage> list_s3(const HttpClient& client, const S3Settings& settings, const std::string& folder,
                                ListDepth depth, const std::string& from) {
  HttpObject asked;
  asked.name = folder;
  asked.s3 = parse_bucket(folder);
  asked.settings = settings;
  asked.bearer = settings.token;
  const std::string prefix = asked.s3.key.empty() ? "" : asked.s3.key + "/";
  asked.query = s3_query(prefix, depth, from);
  asked.s3.key.clear();
  asked.url = s3_url(asked.s3, settings) + asked.query;
  const HttpAnswer answer = client.get_whole(asked, most_s3_page_bytes);
  const bool is_not_listing =
      std::find(s3_not_listing.begin(), s3_not_listing.end(), answer.status) != s3_not_listing.end();
  if (is_not_listing && *hint_of(answer) == '\0') return std::nullopt;
  if (answer.status != http::ok) {
    throw Error(Status::io,
                fmt::format("{}: the server answers {} where it is to list", folder, status_and_code(answer)),
                hint_of(answer));
  }
  auto page = parse_s3_page(folder, answer.body);
  if (!page) return std::nullopt;
  for (ListedObject& object : page->objects) object.key = key_below(object.key, prefix, folder);
  for (std::string& key : page->folders) key = key_below(key, prefix, folder);
  return page;
}

}  // namespace tare

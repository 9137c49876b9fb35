#include "lib/remote/web_index.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::uint64_t most_index_bytes = std::uint64_t{8} << 20;

/// How the title of such a page begins: nginx, Apache and lighttpd; Python.
constexpr auto titles = std::to_array<std::string_view>({"<title>Index of", "<title>Directory listing for"});
constexpr std::string_view link = "href=\"";

/// Of HTML, those that a link has.
struct Entity {
  std::string_view name;
  char meaning;
};
constexpr auto entities = std::to_array<Entity>(
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#34;", '"'}, {"&#39;", '\''}, {"&#x27;", '\''}});

std::string without_entities(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto* const found =
        std::ranges::find_if(entities, [&](const Entity& entity) { return text.starts_with(entity.name); });
    const bool is_entity = found != entities.end();
    plain += is_entity ? found->meaning : text.front();
    text.remove_prefix(is_entity ? found->name.size() : 1);
  }
  return plain;
}

/// A name in the folder itself, a folder's with '/' behind it; empty for what leads elsewhere, or sorts the list.
std::string linked_name(std::string_view target) {
  const std::string path = without_entities(target);
  std::string name = unescaped_key(std::string_view(path).substr(0, path.find_first_of("?#")));
  if (name.starts_with("./")) name.erase(0, 2);
  const std::size_t slash = name.find('/');
  const bool is_elsewhere = target.starts_with('?') || target.starts_with('#') || name == "../" || name == ".." ||
                            (slash != name.npos && slash + 1 != name.size()) || slash == 0;
  return is_elsewhere ? "" : name;
}

}  // namespace

std::optional<ListPage> parse_web_index(std::string_view page) {
  const bool is_list =
      std::ranges::any_of(titles, [&](std::string_view title) { return page.find(title) != page.npos; });
  if (!is_list) return std::nullopt;
  ListPage found;
  found.is_level = true;
  for (std::size_t at = page.find(link); at != page.npos; at = page.find(link, at)) {
    at += link.size();
    const std::size_t end = std::min(page.find('"', at), page.size());
    std::string name = linked_name(page.substr(at, end - at));
    if (name.ends_with('/')) {
      found.folders.push_back(std::move(name));
    } else if (!name.empty()) {
      found.objects.push_back({std::move(name)});
    }
    at = end;
  }
  return found;
}

std::optional<ListPage> list_web(const HttpClient& client, HttpObject asked) {
  if (asked.url.find('?') != asked.url.npos) return std::nullopt;  // a signature is good for one object
  asked.url += "/";
  try {
    const HttpAnswer answer = client.get_whole(asked, most_index_bytes);
    if (answer.status == http::ok) return parse_web_index(as_text(answer.body));
  } catch (const Error& error) {
    if (error.status != Status::io) throw;  // more than a list, or nothing: its files are asked for by their names
  }
  return std::nullopt;
}

}  // namespace tare

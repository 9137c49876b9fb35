#include "lib/remote/hub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/json/document.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/settings_text.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::string_view hub_scheme = "hf://";
constexpr auto kinds = std::to_array<std::string_view>({"models", "datasets", "spaces"});
constexpr auto prefixes_of_revisions = std::to_array<std::string_view>({"refs/pr/", "refs/convert/"});
constexpr std::uint64_t most_hub_page_bytes = std::uint64_t{8} << 20;
constexpr const char* hub_hint = "see whether there is such a repository; a private one needs HF_TOKEN";

/// Takes what stands before the next slash, and the slash.
std::string_view take_name(std::string_view& rest) {
  const std::string_view name = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  return name;
}

bool is_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name != "." && name != ".." && std::all_of(name.begin(), name.end(), is_plain);
}

/// The revision that `rest` goes on with, behind '@'.
std::string take_revision(std::string_view& rest) {
  for (const std::string_view prefix : prefixes_of_revisions) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    return fmt::format("{}{}", prefix, take_name(rest));
  }
  return unescaped_key(take_name(rest));
}

/// <https://...>; rel="next": where the next page is, below the same API alone.
std::string next_page(const std::string& link, const std::string& api, const std::string& name) {
  const std::size_t begin = link.find('<');
  const std::size_t end = link.find(">; rel=\"next\"");
  if (begin == link.npos || end == link.npos || begin > end) return {};
  std::string url = link.substr(begin + 1, end - begin - 1);
  if (url.starts_with(api)) return url;
  throw Error(Status::io, fmt::format("{}: the server's list goes on at {}, which is elsewhere", name, shown_url(url)));
}

void add(ListPage& page, const JsonValue& entry, ListDepth depth, const std::string& prefix, const std::string& name) {
  std::string key(entry.at("path").text());
  if (!key.starts_with(prefix)) {
    throw Error(Status::io, fmt::format("{}: the server lists \"{}\", which is not in it", name, key));
  }
  key.erase(0, prefix.size());
  if (entry.at("type").text() == "directory") {
    if (depth == ListDepth::level) page.folders.push_back(std::move(key));
    return;  // what lies below has its files listed, and a repository keeps no empty folder
  }
  const std::string digits = entry.at("size").word();
  std::uint64_t size = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), size);
  page.objects.push_back({std::move(key), size});
}

}  // namespace

namespace {

/// The first of these that is there, with `below` behind it.
std::string token_path(const Environment& environment) {
  constexpr std::pair<const char*, const char*> places[] = {{"HF_TOKEN_PATH", ""},
                                                            {"HF_HOME", "/token"},
                                                            {"XDG_CACHE_HOME", "/huggingface/token"},
                                                            {"HOME", "/.cache/huggingface/token"}};
  for (const auto& [variable, below] : places) {
    std::string path = environment(variable);
    if (path.empty()) continue;
    if (path == "~" || path.starts_with("~/")) path.replace(0, 1, environment("HOME"));
    return path + below;
  }
  return {};
}

/// As the Hub's own library takes it: it stands in a line of a request.
std::string without_line_ends(std::string token) {
  std::erase_if(token, [](char c) { return c == '\n' || c == '\r'; });
  return std::string(trimmed(token));
}

}  // namespace

HubSettings read_hub_settings(const Environment& environment) {
  HubSettings settings;
  for (const char* variable : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (settings.token.empty()) settings.token = without_line_ends(environment(variable));
  }
  if (settings.token.empty()) settings.token = without_line_ends(small_file(token_path(environment)));
  if (const std::string endpoint = environment("HF_ENDPOINT"); !endpoint.empty()) settings.endpoint = endpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  return settings;
}

HubPath parse_hub(std::string_view path) {
  HubPath found;
  std::string_view rest = path.substr(std::min(hub_scheme.size(), path.size()));
  const auto* kind = std::find(kinds.begin(), kinds.end(), rest.substr(0, rest.find('/')));
  found.kind = kind == kinds.end() ? kinds.front() : *kind;
  if (kind != kinds.end()) take_name(rest);
  const std::string_view owner = take_name(rest);
  const std::string_view name = rest.substr(0, rest.find_first_of("@/"));
  rest.remove_prefix(name.size());
  found.repository = fmt::format("{}/{}", owner, name);
  const bool has_revision = rest.starts_with('@');
  rest.remove_prefix(std::min<std::size_t>(rest.size(), 1));
  if (has_revision) found.revision = take_revision(rest);
  found.file = rest;
  if (has_scheme(path, hub_scheme) && is_name(owner) && is_name(name) && !found.revision.empty()) return found;
  throw Error(Status::invalid_argument, fmt::format("{}: not of the form hf://OWNER/NAME[@REVISION]/FILE", path));
}

HttpObject hub_object(const HubSettings& settings, const std::string& path) {
  const HubPath wanted = parse_hub(path);
  const std::string kind = wanted.kind == kinds.front() ? "" : wanted.kind + "/";
  HttpObject object;
  object.name = path;
  object.url = fmt::format("{}/{}{}/resolve/{}/{}", settings.endpoint, kind, wanted.repository,
                           escaped_value(wanted.revision), escaped_key(wanted.file));
  object.bearer = settings.token;
  object.hint = hub_hint;
  return object;
}

std::optional<ListPage> list_hub(const HttpClient& client, const HubSettings& settings, const std::string& folder,
                                 ListDepth depth, const std::string& from) {
  const HubPath wanted = parse_hub(folder);
  const std::string prefix = wanted.file.empty() ? "" : wanted.file + "/";
  const std::string api = fmt::format("{}/api/{}/{}/tree/{}", settings.endpoint, wanted.kind, wanted.repository,
                                      escaped_value(wanted.revision));
  HttpObject asked;
  asked.name = folder;
  asked.url = from;
  asked.bearer = settings.token;
  asked.hint = hub_hint;
  if (from.empty()) {
    asked.url = fmt::format("{}{}{}{}", api, prefix.empty() ? "" : "/", escaped_key(wanted.file),
                            depth == ListDepth::below ? "?recursive=true" : "");
  }
  const HttpAnswer answer = client.get_whole(asked, most_hub_page_bytes);
  if (answer.status == http::not_found) return ListPage();
  if (answer.status != http::ok) {
    throw Error(Status::io, fmt::format("{}: the server answers {} where it is to list", folder, answer.status),
                hub_hint);
  }
  const JsonDocument document(answer.body, folder);
  ListPage page;
  page.next = next_page(answer.link, api, folder);
  for (const JsonValue& entry : document.root().items()) add(page, entry, depth, prefix, folder);
  return page;
}

}  // namespace tare

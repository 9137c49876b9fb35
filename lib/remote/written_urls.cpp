#include "lib/remote/written_urls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "lib/remote/url.hpp"

namespace tare {
namespace {

std::size_t begin_of_authority(std::string_view url) {
  return url.find("://") + 3;
}

/// "me:secret@", or nothing.
std::string user_in(std::string_view url) {
  const std::string_view rest = url.substr(begin_of_authority(url));
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  return std::string(authority.substr(0, at == authority.npos ? 0 : at + 1));
}

}  // namespace

std::string WrittenUrls::keep(const std::string& url) {
  if (!is_http(url) && !is_https(url)) return url;
  const std::string shown = shown_url(url);
  std::string called = shown;
  for (std::size_t number = 2; !kept_.try_emplace(called, url).second && kept_.at(called) != url; ++number) {
    called = fmt::format("{}?{}", shown, number);
  }
  return called;
}

std::string WrittenUrls::user_of(const std::string& path) const {
  std::string user;
  std::size_t most_alike = 0;
  for (const auto& [called, url] : kept_) {
    if (origin_of(called) != origin_of(path)) continue;
    const std::string folder = called + "/";
    const auto end = std::ranges::mismatch(folder, path + "/").in1;
    const auto alike = static_cast<std::size_t>(end - folder.begin());
    if (alike > most_alike) user = user_in(url);
    most_alike = std::max(most_alike, alike);
  }
  return user;
}

std::optional<std::string> WrittenUrls::given(const std::string& path) const {
  const auto exact = kept_.find(path);
  return exact == kept_.end() ? std::nullopt : std::optional(exact->second);
}

std::string WrittenUrls::written(const std::string& path) const {
  if (auto exact = given(path)) return *std::move(exact);
  std::string url = path;
  if (is_http(path) || is_https(path)) url.insert(begin_of_authority(path), user_of(path));
  return url;
}

}  // namespace tare

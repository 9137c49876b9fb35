#include "lib/remote/route.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/error.hpp"
#include "lib/remote/url.hpp"

namespace tare {

bool HostPlaces::is_steady(const std::string& host, bool is_inside) {
  const std::lock_guard lock(mutex_);
  return inside_.try_emplace(host, is_inside).first->second == is_inside;
}

Route::Route(HostPlaces& hosts, std::string name, std::string url, bool allows_private)
    : hosts_(hosts), name_(std::move(name)), home_(std::move(url)), url_(home_), allows_private_(allows_private) {}

bool Route::is_at_home() const {
  return origin_of(url_) == origin_of(home_);
}

bool Route::allows(const NetAddress& address) {
  const bool is_home = is_redirected_ ? address == home_address_ : hosts_.is_steady(host_of(home_), is_inside(address));
  if (allows_private_ || is_home || !is_inside(address)) return true;
  refused_ = address;
  return false;
}

bool Route::takes(const NetAddress& address) {
  if (!allows(address)) return false;
  if (!is_redirected_) home_address_ = address;
  refused_.reset();  // another address of the same name would do
  return true;
}

void Route::require_allowed() const {
  if (refused_) refuse(text_of(*refused_));
}

void Route::go_to(const std::string& redirect) {
  const bool is_secure = is_https(redirect);
  if (!is_secure && !is_http(redirect)) refuse(shown_url(redirect) + ", which is not of the web");
  if (!is_secure && is_https(url_)) refuse(shown_url(redirect) + ", without the encryption of the first");
  const auto literal = address_of(host_of(redirect), 0);
  if (literal && is_inside(*literal) && host_of(redirect) != host_of(home_) && !allows_private_) {
    refuse(text_of(*literal));
  }
  url_ = redirect;
  is_redirected_ = true;
}

void Route::go_on_from(const std::string& redirect, const NetAddress& home) {
  home_address_ = home;
  go_to(redirect);
}

void Route::refuse(const std::string& what) const {
  throw Error(Status::refused, fmt::format("{}: the server leads to {}", name_, what),
              "--allow-private-redirect follows it to addresses inside; else give that address yourself");
}

}  // namespace tare

// From the URL that the user gave to where the server leads, step by step: which of these steps may be taken. A server
// on the internet must not make this machine ask another one that only it can reach.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "lib/remote/inside.hpp"

namespace tare {

/// Where the hosts that the user named were found first. A name that leads inside only later was bent.
class HostPlaces {
 public:
  /// Does `host` lead to where it led first: inside, or not?
  bool is_steady(const std::string& host, bool is_inside);

 private:
  std::mutex mutex_;
  std::map<std::string, bool> inside_;
};

class Route {
 public:
  /// `name`: what messages call the object; `url`: the user's own.
  Route(HostPlaces& hosts, std::string name, std::string url, bool allows_private);

  [[nodiscard]] const std::string& url() const { return url_; }
  /// Is it the user's own host that is asked?
  [[nodiscard]] bool is_at_home() const;

  /// May that address be connected to? Keeps why not.
  bool allows(const NetAddress& address);
  /// The same before a request is sent there; and that is where this step led.
  bool takes(const NetAddress& address);
  /// Throws `refused` where a connection was not allowed.
  void require_allowed() const;

  /// Where the user's URL led before, and the address that was asked then: goes on from there, as go_to() does.
  void go_on_from(const std::string& redirect, const NetAddress& home);
  /// The address that the user's host was asked at; nothing where it was not.
  [[nodiscard]] const std::optional<NetAddress>& home_address() const { return home_address_; }

  /// The next step. Throws `refused` for what is neither http nor https, for http after https, and for an address
  /// inside by its number, whatever a proxy would do with it.
  void go_to(const std::string& redirect);

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  HostPlaces& hosts_;
  std::string name_;
  std::string home_;  ///< the user's URL
  std::string url_;
  bool allows_private_;
  bool is_redirected_ = false;
  std::optional<NetAddress> home_address_;
  std::optional<NetAddress> refused_;
};

}  // namespace tare

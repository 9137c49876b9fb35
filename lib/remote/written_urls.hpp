// URLs of the web as the user wrote them, with a name, a password, a signature in the query: which requests need, and
// which nobody is to read in an answer.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace tare {

class WrittenUrls {
 public:
  /// What `url` is called from now on: without what may be secret, and with a number behind a '?' where another one is
  /// called so already: a URL that keeps nothing from anybody has a name as well. What is no URL of the web, as it is.
  std::string keep(const std::string& url);
  /// The URL that is called `path`; nothing where none is.
  [[nodiscard]] std::optional<std::string> given(const std::string& path) const;
  /// What is asked for where `path`, or as much of it, is wanted: what the user wrote; of what lies below it, or else
  /// on the same host, with the same name and password.
  [[nodiscard]] std::string written(const std::string& path) const;

 private:
  [[nodiscard]] std::string user_of(const std::string& path) const;

  std::map<std::string, std::string> kept_;  ///< by what they are called
};

}  // namespace tare

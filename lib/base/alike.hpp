// What is true of many files, or of many items of one, is told once: of the first.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/base/finding.hpp"

namespace tare {

class AlikeFindings {
 public:
  /// Takes a finding. Of those of one `kin` that say the same, by severity, code and message, the first is kept and the
  /// others are counted; one without kin stands for itself.
  void add(Finding finding, const std::optional<std::string>& kin);

  /// All that were kept, in their order; a message that is true of more says so: "(and so in 3 more rank files)", if
  /// each is a `what`. Of one file no more than limits::max_alike_findings of a code are kept: the last says how many
  /// there were. Leaves nothing behind.
  std::vector<Finding> take(std::string_view what);

 private:
  using Key = std::tuple<std::string, Severity, std::string, std::string>;

  std::vector<Finding> kept_;
  std::vector<std::size_t> more_;  ///< for each kept one: how many others say the same
  std::map<Key, std::size_t> first_;
  struct Crowd {
    std::size_t last = 0;  ///< of kept_
    std::size_t kept = 0;
    std::size_t left_out = 0;
  };
  std::map<std::pair<std::string, std::string>, Crowd> crowds_;  ///< by file and code
};

}  // namespace tare

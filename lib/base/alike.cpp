#include "lib/base/alike.hpp"

#include <fmt/format.h>

#include <utility>

namespace tare {

void AlikeFindings::add(Finding finding, const std::optional<std::string>& kin) {
  if (kin) {
    const Key key{*kin, finding.severity, finding.code, finding.message};
    const auto [known, is_new] = first_.try_emplace(key, kept_.size());
    if (!is_new) {
      ++more_[known->second];
      return;
    }
  }
  kept_.push_back(std::move(finding));
  more_.push_back(0);
}

std::vector<Finding> AlikeFindings::take(std::string_view what) {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (more_[i] > 0)
      kept_[i].message += fmt::format(" (and so in {} more {}{})", more_[i], what, more_[i] == 1 ? "" : "s");
  }
  first_.clear();
  more_.clear();
  return std::exchange(kept_, {});
}

}  // namespace tare

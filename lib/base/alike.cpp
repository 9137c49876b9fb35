#include "lib/base/alike.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/limits.hpp"

namespace tare {

void AlikeFindings::add(Finding finding, const std::optional<std::string>& kin) {
  std::optional<Key> key;
  if (kin) key.emplace(*kin, finding.severity, finding.code, finding.message);
  if (key) {
    const auto known = first_.find(*key);
    if (known != first_.end()) {
      ++more_[known->second];
      return;
    }
  }
  Crowd& crowd = crowds_[{finding.file, finding.code}];
  if (crowd.kept == limits::max_alike_findings) {
    ++crowd.left_out;
    return;
  }
  if (key) first_.emplace(*std::move(key), kept_.size());
  ++crowd.kept;
  crowd.last = kept_.size();
  kept_.push_back(std::move(finding));
  more_.push_back(0);
}

std::vector<Finding> AlikeFindings::take(std::string_view what) {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (more_[i] > 0)
      kept_[i].message += fmt::format(" (and so in {} more {}{})", more_[i], what, more_[i] == 1 ? "" : "s");
  }
  for (const auto& [key, crowd] : crowds_) {
    if (crowd.left_out > 0) kept_[crowd.last].message += fmt::format(" (and {} more like this)", crowd.left_out);
  }
  crowds_.clear();
  first_.clear();
  more_.clear();
  return std::exchange(kept_, {});
}

}  // namespace tare

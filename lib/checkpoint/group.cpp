#include "lib/checkpoint/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

std::string scale_text(const FoundScaler& scaler) {
  const Field* scale = scaler.find(Role::scale);
  return scale == nullptr ? "none" : float_text(scale->value.as_double());
}

/// "scale 65536.0 in rank0.pt, 32768.0 in rank1.pt and 3 more"
std::string values_by_file(const std::vector<const Scaler*>& variants, const std::vector<CheckpointFile>& files) {
  constexpr std::size_t most = 4;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(variants.size(), most); ++i) {
    const std::size_t others = variants[i]->copies.size() - 1;
    std::string part = fmt::format("scale {} in {}", scale_text(variants[i]->state()),
                                   files[variants[i]->copies.front().places.front()].path);
    if (others > 0) part += fmt::format(" and {} more", others);
    parts.push_back(std::move(part));
  }
  if (variants.size() > most) parts.push_back(fmt::format("{} other states", variants.size() - most));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "; the majority, 6 of 8, has scale 65536.0"; empty where there is none.
std::string majority(const std::vector<const Scaler*>& variants) {
  std::size_t all = 0;
  for (const Scaler* variant : variants) all += variant->copies.size();
  for (const Scaler* variant : variants) {
    if (2 * variant->copies.size() <= all) continue;
    return fmt::format("; the majority, {} of {}, has scale {}", variant->copies.size(), all,
                       scale_text(variant->state()));
  }
  return {};
}

/// The first field in which two states differ.
std::string differing_field(const FoundScaler& a, const FoundScaler& b) {
  for (const Field& field : a.fields) {
    const Field* other = b.find(field.name);
    if (other == nullptr || !same(field.value, other->value)) return field.name;
  }
  return a.fields.size() == b.fields.size() ? "order of fields" : b.fields.back().name;
}

}  // namespace

void CopyGroups::add(FoundScaler state, ScalerCopy copy, const std::string& path) {
  auto& alike = variants_[{rank_group(path).value_or(path), state.dialect->name, state.path}];
  const auto same_one =
      std::find_if(alike.begin(), alike.end(), [&](std::size_t i) { return same_state(scalers_[i].found, state); });
  if (same_one == alike.end()) {
    alike.push_back(scalers_.size());
    scalers_.push_back({std::move(state), {std::move(copy)}, true, alike.front()});
  } else {
    scalers_[*same_one].copies.push_back(std::move(copy));
  }
}

std::vector<Scaler> CopyGroups::take(const std::vector<CheckpointFile>& files, std::vector<Finding>& findings) {
  std::map<std::size_t, const std::vector<std::size_t>*> in_file_order;
  for (const auto& [which, alike] : variants_) {
    if (alike.size() > 1) in_file_order[alike.front()] = &alike;
  }
  for (const auto& [group, alike] : in_file_order) {
    std::vector<const Scaler*> states;
    for (const std::size_t i : *alike) {
      scalers_[i].agree = false;
      states.push_back(&scalers_[i]);
    }
    findings.push_back(
        {Severity::error, "copies-disagree",
         fmt::format("rank files disagree, in {} first: {}{}", differing_field(states[0]->state(), states[1]->state()),
                     values_by_file(states, files), majority(states)),
         "", scalers_[group].found.path});
  }
  variants_.clear();
  return std::exchange(scalers_, {});
}

}  // namespace tare

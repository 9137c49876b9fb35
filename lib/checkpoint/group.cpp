#include "lib/checkpoint/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/base/text.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

/// What copies of one scaler have in common: the rank files' group (or the file), the dialect, the path.
using Identity = std::tuple<std::string, std::string_view, std::string>;

Identity identity(const ScalerCopy& copy, const std::vector<CheckpointFile>& files) {
  const std::string& path = files[copy.file].path;
  return {rank_group(path).value_or(path), copy.state.dialect->name, copy.state.path};
}

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

std::vector<Scaler> group_copies(std::vector<ScalerCopy> copies, const std::vector<CheckpointFile>& files,
                                 std::vector<Finding>& findings) {
  std::vector<Scaler> scalers;
  std::map<Identity, std::vector<std::size_t>> variants;  // indices into scalers
  std::vector<Identity> order;
  for (ScalerCopy& copy : copies) {
    auto [known, is_new] = variants.try_emplace(identity(copy, files));
    if (is_new) order.push_back(known->first);
    auto& alike = known->second;
    const auto same_one = std::find_if(alike.begin(), alike.end(),
                                       [&](std::size_t i) { return same_state(scalers[i].state(), copy.state); });
    if (same_one != alike.end()) {
      scalers[*same_one].copies.push_back(std::move(copy));
    } else {
      alike.push_back(scalers.size());
      Scaler& scaler = scalers.emplace_back();
      scaler.group = alike.front();
      scaler.copies.push_back(std::move(copy));
    }
  }
  for (const Identity& which : order) {
    const auto& alike = variants[which];
    if (alike.size() < 2) continue;
    std::vector<const Scaler*> states;
    for (const std::size_t i : alike) {
      scalers[i].agree = false;
      states.push_back(&scalers[i]);
    }
    findings.push_back(
        {Severity::error, "copies-disagree",
         fmt::format("rank files disagree, in {} first: {}{}", differing_field(states[0]->state(), states[1]->state()),
                     values_by_file(states, files), majority(states)),
         "", std::get<2>(which)});
  }
  return scalers;
}

}  // namespace tare

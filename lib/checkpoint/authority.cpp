#include "lib/checkpoint/authority.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "lib/base/file_path.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/rank_name.hpp"

namespace tare {
namespace {

// Megatron-core: serialization.py takes the common state from common.pt where there is one, else from the items.
constexpr std::string_view common_items = "common_state/";
constexpr std::string_view common_file = "common.pt";
constexpr std::string_view group_word = "dp_group_idx_";

bool has_file(const std::vector<CheckpointFile>& files, const std::string& path) {
  return std::any_of(files.begin(), files.end(), [&](const CheckpointFile& file) { return file.path == path; });
}

Authority settled(const FoundScaler& scaler, const std::string& path, const std::vector<CheckpointFile>& files) {
  if (scaler.path.starts_with(common_items) && has_file(files, std::string(folder_prefix(path)).append(common_file))) {
    return Authority::no_rank;
  }
  const bool is_open = scaler.authority == Authority::unknown || scaler.authority == Authority::every_rank;
  return is_open && rank_group(path) ? Authority::own_rank : scaler.authority;
}

/// The path without the group's number.
std::string any_group(std::string path) {
  const std::size_t word = path.find(group_word);
  if (word == std::string::npos) return path;
  const std::size_t begin = word + group_word.size();
  const std::size_t end = std::min(path.find_first_not_of("0123456789", begin), path.size());
  path.erase(begin, end - begin);
  return path;
}

bool are_alike(const FoundScaler& a, const FoundScaler& b) {
  FoundScaler moved = b;
  moved.path = a.path;
  return same_state(a, moved);
}

void compare_groups(const std::vector<Scaler>& scalers, std::vector<Finding>& findings) {
  std::map<std::string, const FoundScaler*> first;
  for (const Scaler& scaler : scalers) {
    const FoundScaler& state = scaler.state();
    if (state.authority != Authority::rank_group) continue;
    const auto [known, is_new] = first.try_emplace(any_group(state.path), &state);
    if (is_new || are_alike(*known->second, state)) continue;
    const auto scale = [](const FoundScaler& s) {
      const Field* field = s.find(Role::scale);
      return field == nullptr ? std::string("none") : float_text(field->value.as_double());
    };
    findings.push_back({Severity::warning, "groups-disagree",
                        fmt::format("differs from {} (scale {} and {}): the groups would go on differently",
                                    known->second->path, scale(state), scale(*known->second)),
                        "", state.path});
  }
}

}  // namespace

void settle_authority(std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files,
                      std::vector<Finding>& findings) {
  for (Scaler& scaler : scalers) {
    scaler.found.authority = settled(scaler.found, files[scaler.copies.front().file].path, files);
    const FoundScaler& state = scaler.state();
    if (state.authority != Authority::no_rank) continue;
    findings.push_back({Severity::note, "copy-not-loaded",
                        fmt::format("Megatron loads {} where there is one, and not this copy", common_file),
                        files[scaler.copies.front().places.front()].path, state.path});
  }
  compare_groups(scalers, findings);
}

}  // namespace tare

#include "lib/checkpoint/authority.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "lib/base/file_path.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/rank_name.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

bool has_file(const std::vector<CheckpointFile>& files, const std::string& path) {
  return std::any_of(files.begin(), files.end(), [&](const CheckpointFile& file) { return file.path == path; });
}

std::vector<const Trainer*> those_with_common_file() {
  std::vector<const Trainer*> those;
  std::ranges::copy_if(trainers(), std::back_inserter(those),
                       [](const Trainer* trainer) { return !trainer->distributed.common_file.empty(); });
  return those;
}

/// The trainer that loads a file of that folder and not this copy; null where this one counts.
const Trainer* passes_over(const FoundScaler& scaler, const std::string& path,
                           const std::vector<CheckpointFile>& files) {
  static const std::vector<const Trainer*> with_common_file = those_with_common_file();
  for (const Trainer* trainer : with_common_file) {
    const auto& [common_items, common_file] =
        std::pair(trainer->distributed.common_items, trainer->distributed.common_file);
    if (!scaler.path.starts_with(common_items)) continue;
    if (has_file(files, std::string(folder_prefix(path)).append(common_file))) return trainer;
  }
  return nullptr;
}

/// The path without a data-parallel group's number.
std::string any_group(std::string path) {
  for (const Trainer* trainer : trainers()) {
    const std::string_view word = trainer->distributed.group_word;
    const std::size_t at = word.empty() ? path.npos : path.find(word);
    if (at == path.npos) continue;
    const std::size_t begin = at + word.size();
    path.erase(begin, std::min(path.find_first_not_of("0123456789", begin), path.size()) - begin);
  }
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
  std::size_t last_file = files.size();
  bool is_of_ranks = false;
  for (Scaler& scaler : scalers) {
    FoundScaler& state = scaler.found;
    const std::string& path = files[scaler.copies.front().file].path;
    if (last_file != scaler.copies.front().file) is_of_ranks = rank_group(path).has_value();
    last_file = scaler.copies.front().file;
    const Trainer* trainer = passes_over(state, path, files);
    const bool is_open = state.authority == Authority::unknown || state.authority == Authority::every_rank;
    if (trainer == nullptr && is_open && is_of_ranks) state.authority = Authority::own_rank;
    if (trainer == nullptr) continue;
    state.authority = Authority::no_rank;
    findings.push_back({Severity::note, "copy-not-loaded",
                        fmt::format("{} loads {} where there is one, and not this copy", trainer->name,
                                    trainer->distributed.common_file),
                        files[scaler.copies.front().places.front()].path, state.path});
  }
  compare_groups(scalers, findings);
}

}  // namespace tare

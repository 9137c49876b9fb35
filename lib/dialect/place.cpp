// `torch` state is kept by two dozen trainers; the key, the file's name and what else is at the file's root tell whose
// it is.
#include "lib/dialect/place.hpp"

#include <algorithm>

#include "lib/base/file_path.hpp"
#include "lib/dialect/release_keys.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty() || !pattern.ends_with('*')) return pattern == text;
  return text.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

KnownPlace place_of(const FoundScaler& scaler, const FileContext& file, const Tree& tree) {
  const NodeId root = tree.fields(tree.root);
  if (const ReleaseKey* row = release_key_of(scaler)) {
    const bool is_replaced = !row->replaced_by.empty() && tree.find(root, row->replaced_by) != nowhere;
    return {place_under(*row), is_replaced ? Authority::no_rank : Authority::every_rank};
  }
  const auto is_it = [&](const KeptAt& place) {
    return fits(place.path, scaler.path) && (place.file.empty() || fits(place.file, file_name(file.name))) &&
           (place.root_key.empty() || tree.find(root, place.root_key) != nowhere) &&
           (place.other_root_key.empty() || tree.find(root, place.other_root_key) != nowhere);
  };
  const auto found_in = [&](std::span<const KeptAt> places) -> const KeptAt* {
    const auto place = std::ranges::find_if(places, is_it);
    return place == places.end() ? nullptr : &*place;
  };
  const KeptAt* place = nullptr;
  for (const Trainer* trainer : trainers()) {
    if (place == nullptr && trainer->keeps == scaler.dialect->name) place = found_in(trainer->places);
  }
  if (place == nullptr) place = found_in(scaler.dialect->places);
  return place == nullptr ? KnownPlace() : KnownPlace{place->trainer, place->authority};
}

std::string_view name(Authority authority) {
  switch (authority) {
    case Authority::every_rank:
      return "every_rank";
    case Authority::own_rank:
      return "own_rank";
    case Authority::rank_group:
      return "rank_group";
    case Authority::no_rank:
      return "no_rank";
    case Authority::unknown:
      break;
  }
  return {};
}

std::string_view sentence(Authority authority) {
  switch (authority) {
    case Authority::every_rank:
      return "every rank loads this copy";
    case Authority::own_rank:
      return "each rank loads the copy in its own file, so all must be alike";
    case Authority::rank_group:
      return "the ranks of one data-parallel group load this copy, so those of all groups must be alike";
    case Authority::no_rank:
      return "no rank loads this copy: another one comes first";
    case Authority::unknown:
      break;
  }
  return {};
}

}  // namespace tare

#include "lib/attest/doubt_of_tree.hpp"

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/attest/lightning_names.hpp"
#include "lib/attest/loaded_bytes.hpp"
#include "lib/attest/monai_expressions.hpp"
#include "lib/attest/named_in_place.hpp"
#include "lib/attest/named_in_text.hpp"

namespace tare {

Doubt doubt_of_tree(const Tree& tree) {
  Doubt doubt = doubt_of_places(tree);
  std::set<std::tuple<std::string, std::string, std::uint64_t>> told;
  std::vector<GlobalName> named = std::exchange(doubt.globals, {});
  // Lightning parts texts that others leave alone; what both take is told once.
  for (const auto& more :
       {names_by_keys(tree), names_for_lightning(tree), names_in_monai_bundle(tree), loads_of_computed_bytes(tree)}) {
    named.insert(named.end(), more.begin(), more.end());
  }
  for (GlobalName& name : named) {
    if (told.insert({name.module, name.name, name.offset}).second) doubt.globals.push_back(std::move(name));
  }
  return doubt;
}

}  // namespace tare

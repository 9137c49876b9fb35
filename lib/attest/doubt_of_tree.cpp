#include "lib/attest/doubt_of_tree.hpp"

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/attest/allennlp_names.hpp"
#include "lib/attest/fairseq_names.hpp"
#include "lib/attest/lightning_names.hpp"
#include "lib/attest/loaded_bytes.hpp"
#include "lib/attest/monai_expressions.hpp"
#include "lib/attest/named_in_place.hpp"
#include "lib/attest/named_in_text.hpp"

namespace tare {

namespace {

std::vector<std::vector<GlobalName>> names_of_frameworks(const Tree& tree, TreeOrigin origin) {
  if (origin == TreeOrigin::json) return {names_in_monai_bundle(tree), names_for_allennlp(tree)};
  return {names_for_fairseq(tree), loads_of_computed_bytes(tree)};
}

}  // namespace

Doubt doubt_of_tree(const Tree& tree, TreeOrigin origin) {
  Doubt doubt = doubt_of_places(tree, origin);
  std::set<std::tuple<std::string, std::string, std::uint64_t>> told;
  std::vector<GlobalName> named = std::exchange(doubt.globals, {});
  const auto add = [&](const std::vector<GlobalName>& more) { named.insert(named.end(), more.begin(), more.end()); };
  // Lightning parts texts that others leave alone; what both take is told once.
  for (const auto& more : {names_by_keys(tree, origin), names_for_lightning(tree)}) add(more);
  for (const auto& more : names_of_frameworks(tree, origin)) add(more);
  for (GlobalName& name : named) {
    if (told.insert({name.module, name.name, name.offset}).second) doubt.globals.push_back(std::move(name));
  }
  return doubt;
}

}  // namespace tare

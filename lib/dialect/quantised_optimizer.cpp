#include "lib/dialect/quantised_optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace tare {
namespace {

struct Quantised {
  std::string_view what;
  std::string_view scales;  ///< the name of its blocks' scales
  std::span<const std::string_view>
      names;  ///< keys that only its state has, all of them; or one class, with its module
};

// Source: bitsandbytes/optim/optimizer.py (Optimizer2State.init_state, blockwise), 0.49.
constexpr auto bitsandbytes_keys = std::to_array<std::string_view>({"state1", "qmap1", "absmax1"});
// Source: torchao/optim/subclass_{8bit,4bit,fp8}.py, 0.14; before 0.9 below torchao.prototype.low_bit_optim.
constexpr auto torchao_8bit = std::to_array<std::string_view>({"OptimState8bit"});
constexpr auto torchao_4bit = std::to_array<std::string_view>({"OptimState4bit"});
constexpr auto torchao_fp8 = std::to_array<std::string_view>({"OptimStateFp8"});

constexpr auto quantised_kinds = std::to_array<Quantised>({
    {"bitsandbytes' 8-bit states", "absmax1, absmax2", bitsandbytes_keys},
    {"torchao's 8-bit states (OptimState8bit)", "scale", torchao_8bit},
    {"torchao's 4-bit states (OptimState4bit)", "scale", torchao_4bit},
    {"torchao's FP8 states (OptimStateFp8)", "scale", torchao_fp8},
});

/// A text, or the name of a class; empty for all else.
std::string_view word(const Tree& tree, NodeId id) {
  return tree.kind(id) == Kind::string ? tree.text(id) : tree.qualified_name(id).name;
}

/// Which of all kinds' names stand in the tree, in one pass.
std::vector<std::string_view> present(const Tree& tree) {
  std::vector<std::string_view> wanted;
  for (const Quantised& kind : quantised_kinds) wanted.insert(wanted.end(), kind.names.begin(), kind.names.end());
  std::vector<std::string_view> found;
  for (NodeId id = 0; id < tree.size() && !wanted.empty(); ++id) {
    const std::string_view here = word(tree, id);
    if (here.empty()) continue;
    const auto name = std::ranges::find(wanted, here);
    if (name == wanted.end()) continue;
    found.push_back(*name);
    wanted.erase(name);
  }
  return found;
}

}  // namespace

std::optional<Finding> told_of_quantised_optimizer(const Tree& tree) {
  const std::vector<std::string_view> found = present(tree);
  const auto is_there = [&](std::string_view name) { return std::ranges::find(found, name) != found.end(); };
  std::vector<std::string> told;
  for (const Quantised& kind : quantised_kinds) {
    if (std::ranges::all_of(kind.names, is_there)) told.push_back(fmt::format("{} ({})", kind.what, kind.scales));
  }
  if (told.empty()) return std::nullopt;
  return Finding{
      Severity::note, "quantised-optimizer",
      fmt::format("the optimizer keeps {}: their scales are its blocks' own, and no loss scale", fmt::join(told, "; ")),
      "", ""};
}

}  // namespace tare

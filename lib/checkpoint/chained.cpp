#include "lib/checkpoint/chained.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/letters.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

/// The path without the optimizer's number; nothing where it has none.
std::optional<std::string> chain_of(const FoundScaler& state) {
  const std::string& path = state.path;
  for (const std::string_view before : state.dialect->before_chain_number) {
    const std::size_t at = path.find(before);
    if (at == std::string::npos) continue;
    const std::size_t first = at + before.size();
    std::size_t last = first;
    while (last < path.size() && is_digit(path[last])) ++last;
    if (last > first) return path.substr(0, first) + "#" + path.substr(last);
  }
  return std::nullopt;
}

}  // namespace

void tell_of_chains(const std::vector<Scaler>& scalers, std::vector<Finding>& findings) {
  std::map<std::string, const Scaler*> firsts;
  for (const Scaler& scaler : scalers) {
    const FoundScaler& state = scaler.state();
    const Field* scale = state.find(Role::scale);
    const auto chain = chain_of(state);
    if (scale == nullptr || !chain) continue;
    const auto [first, is_first] = firsts.try_emplace(*chain, &scaler);
    if (is_first || first->second->state().path == state.path) continue;
    const double own = scale->value.as_double();
    const double of_first = first->second->state().find(Role::scale)->value.as_double();
    if (own == of_first) continue;
    findings.push_back(
        {Severity::warning, "chained-scales-differ",
         fmt::format("scale is {}, and {} in {}: the loss is scaled by that, and these gradients are "
                     "unscaled by {}",
                     float_text(own), float_text(of_first), first->second->state().path, float_text(own)),
         "", state.path});
  }
}

}  // namespace tare

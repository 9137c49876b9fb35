#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"
#include "lib/state/value.hpp"
#include "tools/render_health.hpp"
#include "tools/table.hpp"

using namespace tare;

namespace {

std::string told_value(const StateValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : number_text(value).value_or("?");
}

/// "transformer_engine amax_history_len=16 margin=1"
std::string recipe_text(const Fp8Recipe& recipe) {
  std::string text(recipe.policy->name);
  for (const auto& [key, value] : recipe.told) text += " " + key + "=" + told_value(value);
  return text;
}

std::string saturated_text(const SimulatedCasts& casts) {
  if (casts.saturated == 0) return "0";
  return fmt::format("{} ({:.3g} %)", casts.saturated,
                     100 * static_cast<double>(casts.saturated) / static_cast<double>(casts.casts));
}

TableRow row_of(const Fp8Simulation& simulation, const Fp8Recipe& recipe, const SimulatedCasts& casts) {
  return {{recipe_text(recipe), saturated_text(casts), std::to_string(casts.saturated_tensors),
           fmt::format("{:.2f}", casts.most_beyond), fmt::format("{:.2f}", casts.mean_unused),
           fmt::format("{:.2f}", casts.most_unused), escaped(simulation.tensors[casts.worst].name)}};
}

}  // namespace

std::string render_fp8_simulation(const Terminal& terminal, const Fp8Simulation& simulation) {
  constexpr std::array columns = {Align::left,  Align::right, Align::right, Align::right,
                                  Align::right, Align::right, Align::left};
  std::vector<TableRow> rows = {
      {{"recipe", "saturated", "tensors", "most beyond", "mean unused", "most unused", "worst"}, Style::faint}};
  for (const auto& [recipe, casts] : simulation.runs) rows.push_back(row_of(simulation, recipe, casts));
  const SimulatedCasts& first = simulation.runs.front().second;
  std::string text = fmt::format("{} casts of {} tensors, from each one's second amax on; beyond and unused in bits\n",
                                 first.casts, simulation.tensors.size());
  text += table(terminal, 2, columns, rows);
  if (first.not_finite > 0) text += fmt::format("{} more were inf or NaN: no scale cures them\n", first.not_finite);
  return text;
}

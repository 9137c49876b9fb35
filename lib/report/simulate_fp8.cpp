#include "lib/report/health.hpp"
#include "lib/report/json.hpp"

namespace tare {
namespace {

using report::Json;
using report::Members;

Json parameter_json(const StateValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  return number_of(value, "parameter");
}

Json recipe_json(const Fp8Simulation& simulation, const Fp8Recipe& recipe, const SimulatedCasts& casts) {
  Members told;
  for (const auto& [key, value] : recipe.told) told.set(key, parameter_json(value));
  Members members;
  members.add("policy", recipe.policy->name).add("parameters", told.take());
  members.add("casts", report::size(casts.casts)).add("not_finite", report::size(casts.not_finite));
  members.add("saturated", report::size(casts.saturated));
  members.add("saturated_tensors", report::size(casts.saturated_tensors));
  members.add("most_beyond_bits", casts.most_beyond).add("mean_unused_bits", casts.mean_unused);
  members.add("most_unused_bits", casts.most_unused);
  members.add("worst", report::safe_text(simulation.tensors[casts.worst].name));
  return members.take();
}

}  // namespace

std::string fp8_simulation_json(const Fp8Simulation& simulation, const std::vector<Pending>& unfinished) {
  std::size_t longest = 0;
  for (const Amaxes& tensor : simulation.tensors) longest = std::max(longest, tensor.values.size());
  Members members;
  members.add("schema", "tare.simulate-fp8/1");
  members.add("targets", report::list_of(simulation.targets, report::safe_text));
  members.add("tensors", report::size(simulation.tensors.size())).add("steps", report::size(longest));
  members.add("recipes", report::list_of(simulation.runs, [&](const auto& run) {
                return recipe_json(simulation, run.first, run.second);
              }));
  members.add("pending", report::pending(unfinished));
  return report::text_of(members.take());
}

}  // namespace tare

#include <cmath>

#include "lib/health/explain.hpp"
#include "lib/report/health.hpp"
#include "lib/report/json.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

using report::Array;
using report::Json;
using report::Members;

Json range_json(const Between& range) {
  Array pair;
  pair.emplace_back(range.least);
  pair.emplace_back(range.most);
  return pair;
}

Json setting_json(const SimulatedSetting& setting) {
  const rule::PolicySpec& spec = rule::spec_of(setting.start.policy.id);
  Members told;
  for (const auto& [key, value] : setting.told) told.set(key, value);
  Members members;
  members.add("policy", spec.name).add("variant", spec.variant).add("parameters", told.take());
  return members.take();
}

Json simulated_json(const SimulatedRun& run) {
  const Simulated& result = run.result;
  Json setting = setting_json(run.setting);
  Members members;
  for (auto& [key, value] : std::get<json::Object>(setting.value)) members.add(key, std::move(value));
  members.add("skipped", range_json(result.skipped)).add("below", range_json(result.below));
  const bool has_mean = result.bounded_until == result.steps;
  members.add("mean_log2", has_mean ? range_json(result.mean_log2) : Json());
  members.add("bounded_until", report::size(result.bounded_until));
  members.add("dies", result.dies_surely ? "surely" : result.dies_possibly ? "possibly" : "no");
  members.add("first_death", result.first_death ? report::size(*result.first_death) : Json());
  return members.take();
}

Json explanation_json(const std::optional<Explanation>& explained) {
  if (!explained) return {};
  Members members;
  members.add("exact", report::list_of(explained->exact, setting_json));
  members.add("readings", report::size(explained->readings)).add("tried", report::size(explained->tried));
  members.add("from_reading", report::size(explained->from_reading)).add("moved", explained->has_moved);
  members.add("cut", explained->is_cut).add("left_open", report::size(explained->left_open));
  members.add("grown", explained->has_grown).add("longest_clean", explained->longest_clean);
  members.add("unseen", report::size(explained->unseen));
  members.add("nearest", explained->nearest ? setting_json(*explained->nearest) : Json());
  if (explained->exact.empty() && explained->nearest) {
    const Contradiction& first = explained->first_contradiction;
    Members where;
    where.add("step", first.step ? Json(*first.step) : Json()).add("line", report::size(first.line));
    where.add("told", first.told).add("expected", first.expected);
    members.add("first_contradiction", where.take());
  }
  return members.take();
}

}  // namespace

std::string simulation_json(const Simulation& simulation, const std::vector<Pending>& unfinished) {
  const ObservedRun& run = simulation.observed;
  Members trace;
  trace.add("steps", report::size(run.count)).add("overflows", report::size(run.overflows));
  trace.add("unknown", report::size(run.unknown)).add("taken_as_clean", report::size(run.taken_as_clean));
  trace.add("incurable", report::size(run.incurable)).add("below", report::size(run.below));
  trace.add("untold_skips", report::size(run.untold_skips)).add("untold_scales", report::size(run.untold_scales));
  trace.add("mean_log2", run.log2_count == 0 ? Json() : Json(run.log2_sum / static_cast<double>(run.log2_count)));
  Members members;
  members.add("schema", "tare.simulate/1");
  members.add("targets", report::list_of(simulation.targets, report::safe_text));
  members.add("below_scale", simulation.below).add("trace", trace.take());
  members.add("settings", report::list_of(simulation.runs, simulated_json));
  members.add("explanation", explanation_json(simulation.explained));
  members.add("pending", report::pending(unfinished));
  return report::text_of(members.take());
}

}  // namespace tare

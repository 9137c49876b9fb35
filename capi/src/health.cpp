#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/options.hpp"
#include "capi/src/run_options.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/report/health.hpp"
#include "lib/report/listed.hpp"
#include "lib/report/unfinished.hpp"
#include "lib/state/scaler_state.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

/// A value as a list of one; of none where it is neither a number nor text.
StateArray array_of(const StateValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return {{1}, std::vector{*text}};
  if (number_text(value)) return {{1}, std::vector{number_of(value, "")}};
  return {{1}, std::vector<double>{}};
}

/// One item, or a list of them. Throws `invalid_argument` for others.
template <class Item>
std::vector<Item> items_of(const StateValue& value, const std::string& key, const char* meant) {
  const auto* list = std::get_if<StateArray>(&value);
  const StateArray one = list == nullptr ? array_of(value) : *list;
  std::vector<Item> items;
  std::visit(
      [&](const auto& values) {
        using Given = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (std::is_convertible_v<Given, Item>) {
          for (const Given& given : values) items.push_back(static_cast<Item>(given));
        }
      },
      one.values);
  if (!items.empty() || (list != nullptr && one.size() == 0)) return items;
  throw Error(Status::invalid_argument, "\"" + key + "\" is no " + meant + ", and no list of such");
}

std::vector<double> list_of_numbers(const StateValue& value, const std::string& key) {
  return items_of<double>(value, key, "number");
}
std::vector<std::string> texts_of(const StateValue& value, const std::string& key) {
  return items_of<std::string>(value, key, "text");
}

/// Where such numbers go.
auto into_list(std::vector<double>& list, const char* key) {
  return [&list, key](const StateValue& value) { list = list_of_numbers(value, key); };
}

auto into_list(std::vector<std::string>& list, const char* key) {
  return [&list, key](const StateValue& value) { list = texts_of(value, key); };
}

struct SimulateGiven {
  SimulationRequest request = {};
  TraceOptions reading = {};
  Journals journals = {};
  std::string maxima = {};
  Fp8Sweep recipes = {};
  std::vector<std::string> amaxes = {};
  std::string policy = {}, format = {};
  StateSection parameters = {};

  OptionPlaces places() {
    Sweep& sweep = request.sweep;
    const auto take_parameters = [this](const StateValue& value) { parameters = members_of(value, "parameters"); };
    return {{"policy", &policy},
            {"variant", &sweep.variant},
            {"window", into_list(sweep.windows, "window")},
            {"hysteresis", into_list(sweep.hysteresis, "hysteresis")},
            {"floor", into_list(sweep.floors, "floor")},
            {"initial", into_list(sweep.initial_scales, "initial")},
            {"parameters", take_parameters},
            {"below", [this](const StateValue& value) { request.options.below = number_of(value, "below"); }},
            {"maxima", &maxima},
            {"history", into_list(recipes.history_lengths, "history")},
            {"algo", into_list(recipes.algorithms, "algo")},
            {"margin", into_list(recipes.margins, "margin")},
            {"amax", into_list(amaxes, "amax")},
            {"format", &format},
            {"explain", &request.wants_explanation},
            {"tag", &reading.tag},
            journals.place()};
  }

  /// Whose recipes are asked for; null where loss scales are meant. Throws `invalid_argument` for what the other has.
  [[nodiscard]] const Fp8PolicySpec* fp8_policy() const {
    const Sweep& sweep = request.sweep;
    const bool asks_scales = !sweep.windows.empty() || !sweep.hysteresis.empty() || !sweep.floors.empty() ||
                             !sweep.initial_scales.empty() || request.wants_explanation || !maxima.empty() ||
                             !reading.tag.empty();
    const bool asks_recipes = !amaxes.empty() || !recipes.history_lengths.empty() || !recipes.algorithms.empty() ||
                              !recipes.margins.empty() || !format.empty();
    const Fp8PolicySpec* spec = find_fp8_policy(policy.empty() && asks_recipes ? "transformer_engine" : policy);
    if (spec == nullptr ? asks_recipes : asks_scales) {
      throw Error(Status::invalid_argument, "the options are those of a loss scale and of FP8 at once",
                  "FP8 has \"history\", \"algo\", \"margin\", \"amax\", \"format\" and \"parameters\"");
    }
    return spec;
  }
};

std::string fp8_simulation_of(const SimulateGiven& given, const Fp8PolicySpec& policy) {
  const std::vector<std::string>& targets = given.request.targets;
  const auto format = given.format.empty() ? Dtype::f8_e4m3fn : find_fp8_format(given.format);
  if (!format) throw Error(Status::invalid_argument, "\"format\" is none", "e4m3, e5m2, f16");
  if (!given.format.empty() && given.amaxes.empty()) {
    throw Error(Status::invalid_argument, "\"format\": a checkpoint's tensors have their own formats",
                "name the series of a log in \"amax\"");
  }
  std::vector<Amaxes> tensors;
  std::vector<Pending> unfinished;
  for (const std::string& series : given.amaxes) {
    tensors.push_back(amaxes_of(read_series(targets, series), series, *format));
  }
  for (std::size_t i = 0; given.amaxes.empty() && i < targets.size(); ++i) {
    const SettledCheckpoint read = open_settled(targets[i], {}, given.journals.scopes_for_reading());
    if (read.pending) unfinished.push_back(*read.pending);
    std::ranges::move(amaxes_of(read.checkpoint), std::back_inserter(tensors));
  }
  Fp8Sweep sweep = given.recipes;
  sweep.policy = &policy;
  sweep.parameters = given.parameters;
  return fp8_simulation_json(simulation_of(targets, std::move(tensors), sweep), unfinished);
}

}  // namespace

int32_t tare_health_doctor(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                           tare_error* error) {
  return guard_making(out, error, [&] {
    const std::vector<std::string> given = paths_of(paths, path_count);
    DoctorOptions options;
    Journals journals;
    take_options(options_json, "the options",
                 {{"thresholds", into_thresholds(options.thresholds)}, {"tag", &options.trace.tag}, journals.place()});
    const ScopeOf scope_of = journals.scopes_for_reading();
    options.open = [&](const std::string& path) { return open_settled(path, {}, scope_of).checkpoint; };
    const Diagnosis diagnosis = diagnose(given, options);
    return new_text(findings_json(diagnosis, unfinished_below(given, scope_of)));
  });
}

int32_t tare_health_timeline(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                             tare_error* error) {
  return guard_making(out, error, [&] {
    const std::vector<std::string> given = paths_of(paths, path_count);
    TraceOptions reading;
    Thresholds thresholds;
    Journals journals;
    take_options(options_json, "the options",
                 {{"thresholds", into_thresholds(thresholds)}, {"tag", &reading.tag}, journals.place()});
    const Trace trace = read_trace(given, reading);
    const std::vector<Pending> unfinished = unfinished_of(trace, journals.scopes_for_reading());
    return new_text(timeline_json(timeline_of(trace, given, thresholds), unfinished));
  });
}

int32_t tare_health_list(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                         tare_error* error) {
  return guard_making(out, error, [&] {
    Journals journals;
    take_options(options_json, "the options", {journals.place()});
    const ScopeOf scope_of = journals.scopes_for_reading();
    std::map<std::string, Pending> pending;  // by the checkpoint's path
    ListOptions options;
    options.open = [&](const std::string& path) {
      SettledCheckpoint read = open_settled(path, {}, scope_of);
      if (read.pending) pending[path] = *std::move(read.pending);
      return std::move(read.checkpoint);
    };
    std::string lines;
    for (const std::string& path : paths_of(paths, path_count)) {
      for (const ListedCheckpoint& one : list_checkpoints(path, options)) {
        const auto found = pending.find(one.path);
        lines += listed_line(one, found == pending.end() ? std::nullopt : std::optional(found->second));
      }
    }
    return new_text(std::move(lines));
  });
}

int32_t tare_health_simulate(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                             tare_error* error) {
  return guard_making(out, error, [&] {
    SimulateGiven given;
    take_options(options_json, "the options", given.places());
    given.request.targets = paths_of(paths, path_count);
    if (const Fp8PolicySpec* policy = given.fp8_policy()) return new_text(fp8_simulation_of(given, *policy));
    Sweep& sweep = given.request.sweep;
    if (!given.policy.empty()) sweep.policy = given.policy;
    for (const auto& [name, number] : given.parameters) sweep.parameters.set(name, number_of(number, name));
    const Trace trace = read_trace(given.request.targets, given.reading);
    std::optional<Trace> maxima;
    if (!given.maxima.empty()) maxima = read_series(given.request.targets, given.maxima, given.reading);
    const Simulation simulation = simulation_of(trace, maxima ? &*maxima : nullptr, given.request);
    return new_text(simulation_json(simulation, unfinished_of(trace, given.journals.scopes_for_reading())));
  });
}

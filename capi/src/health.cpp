#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/options.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/report/health.hpp"
#include "lib/state/scaler_state.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

std::vector<std::string> paths_of(const char* const* paths, uint64_t count) {
  require(paths, "paths");
  if (count == 0) throw Error(Status::invalid_argument, "path_count is 0", "give one path at least");
  std::vector<std::string> given;
  for (uint64_t i = 0; i < count; ++i) {
    require(paths[i], "paths[i]");
    given.emplace_back(paths[i]);
  }
  return given;
}

/// A number, or a list of them.
std::vector<double> numbers_of(const StateValue& value, const std::string& key) {
  const auto* list = std::get_if<StateArray>(&value);
  if (list == nullptr) return {number_of(value, key)};
  std::vector<double> numbers;
  std::visit(
      [&](const auto& values) {
        using Item = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (std::is_arithmetic_v<Item>) {
          for (const Item item : values) numbers.push_back(static_cast<double>(item));
        }
      },
      list->values);
  return numbers;
}

/// Where such numbers go.
auto into_list(std::vector<double>& list, const char* key) {
  return [&list, key](const StateValue& value) { list = numbers_of(value, key); };
}

/// Where an object of thresholds goes.
auto into_thresholds(Thresholds& thresholds) {
  return [&thresholds](const StateValue& value) {
    for (const auto& [name, number] : members_of(value, "thresholds"))
      set_threshold(thresholds, name + "=" + float_text(number_of(number, name)));
  };
}

struct SimulateGiven {
  SimulationRequest request = {};
  TraceOptions reading = {};
  std::string maxima = {};

  OptionPlaces places() {
    Sweep& sweep = request.sweep;
    const auto take_parameters = [&sweep](const StateValue& value) {
      for (const auto& [name, number] : members_of(value, "parameters"))
        sweep.parameters.set(name, number_of(number, name));
    };
    return {{"policy", &sweep.policy},
            {"variant", &sweep.variant},
            {"window", into_list(sweep.windows, "window")},
            {"hysteresis", into_list(sweep.hysteresis, "hysteresis")},
            {"floor", into_list(sweep.floors, "floor")},
            {"initial", into_list(sweep.initial_scales, "initial")},
            {"parameters", take_parameters},
            {"below", [this](const StateValue& value) { request.options.below = number_of(value, "below"); }},
            {"maxima", &maxima},
            {"explain", &request.wants_explanation},
            {"tag", &reading.tag}};
  }
};

}  // namespace

int32_t tare_health_doctor(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                           tare_error* error) {
  return guard_making(out, error, [&] {
    const std::vector<std::string> given = paths_of(paths, path_count);
    DoctorOptions options;
    Journals journals;
    take_options(options_json, "the options",
                 {{"thresholds", into_thresholds(options.thresholds)},
                  {"tag", &options.trace.tag},
                  {"state_folder", &journals.state_folder}});
    const ScopeOf scope_of = journals.scopes_for_reading();
    options.open = [&](const std::string& path) { return open_settled(path, {}, scope_of).checkpoint; };
    return new_text(findings_json(diagnose(given, options)));
  });
}

int32_t tare_health_timeline(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                             tare_error* error) {
  return guard_making(out, error, [&] {
    const std::vector<std::string> given = paths_of(paths, path_count);
    TraceOptions reading;
    Thresholds thresholds;
    take_options(options_json, "the options", {{"thresholds", into_thresholds(thresholds)}, {"tag", &reading.tag}});
    return new_text(timeline_json(timeline_of(read_trace(given, reading), given, thresholds)));
  });
}

int32_t tare_health_simulate(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                             tare_error* error) {
  return guard_making(out, error, [&] {
    SimulateGiven given;
    take_options(options_json, "the options", given.places());
    given.request.targets = paths_of(paths, path_count);
    const Trace trace = read_trace(given.request.targets, given.reading);
    std::optional<Trace> maxima;
    if (!given.maxima.empty()) {
      given.reading.tag = given.maxima;
      maxima = read_trace(given.request.targets, given.reading);
    }
    return new_text(simulation_json(simulation_of(trace, maxima ? &*maxima : nullptr, given.request)));
  });
}

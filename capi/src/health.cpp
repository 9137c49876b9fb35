#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/journals.hpp"
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

/// An object of numbers within the options, which comes as its text.
template <class Take>
bool take_numbers(const StateValue& value, const std::string& key, const Take& take) {
  const auto* object = std::get_if<OpaqueJson>(&value);
  if (object == nullptr) return false;
  for (const auto& [name, number] : members_of_json(object->text, "\"" + key + "\"")) {
    take(name, number_of(number, name));
  }
  return true;
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

bool take_thresholds(Thresholds& thresholds, const StateValue& value) {
  return take_numbers(value, "thresholds", [&](const std::string& name, double number) {
    set_threshold(thresholds, name + "=" + float_text(number));
  });
}

struct SimulateGiven {
  SimulationRequest request;
  TraceOptions reading;
  std::string maxima;
};

bool take_list(SimulateGiven& given, const std::string& key, const StateValue& value) {
  Sweep& sweep = given.request.sweep;
  std::vector<double>* into = key == "window"       ? &sweep.windows
                              : key == "hysteresis" ? &sweep.hysteresis
                              : key == "floor"      ? &sweep.floors
                              : key == "initial"    ? &sweep.initial_scales
                                                    : nullptr;
  if (into == nullptr) return false;
  *into = numbers_of(value, key);
  return true;
}

bool take_text(SimulateGiven& given, const std::string& key, const StateValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return false;
  std::string* into = key == "policy"    ? &given.request.sweep.policy
                      : key == "variant" ? &given.request.sweep.variant
                      : key == "tag"     ? &given.reading.tag
                      : key == "maxima"  ? &given.maxima
                                         : nullptr;
  if (into != nullptr) *into = *text;
  return into != nullptr;
}

SimulateGiven parse_simulate(const char* options_json) {
  SimulateGiven given;
  for (const auto& [key, value] : options_of(options_json)) {
    if (take_list(given, key, value) || take_text(given, key, value)) continue;
    if (const auto* flag = std::get_if<bool>(&value); key == "explain" && flag != nullptr) {
      given.request.wants_explanation = *flag;
    } else if (key == "below") {
      given.request.options.below = number_of(value, key);
    } else if (key != "parameters" || !take_numbers(value, key, [&](const std::string& name, double number) {
                 given.request.sweep.parameters.set(name, number);
               })) {
      refuse_key(
          key, "Options: policy, variant, window, hysteresis, floor, initial, parameters, below, maxima, explain, tag");
    }
  }
  return given;
}

}  // namespace

int32_t tare_health_doctor(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                           tare_error* error) {
  return guard_making(out, error, [&] {
    const std::vector<std::string> given = paths_of(paths, path_count);
    DoctorOptions options;
    Journals journals;
    for (const auto& [key, value] : options_of(options_json)) {
      if (key == "state_folder" && take_journal_option(journals, key, value)) continue;
      if (const auto* text = std::get_if<std::string>(&value); key == "tag" && text != nullptr) {
        options.trace.tag = *text;
      } else if (key != "thresholds" || !take_thresholds(options.thresholds, value)) {
        refuse_key(key, "Options: thresholds (an object of numbers), tag, state_folder");
      }
    }
    const ScopeOf scope_of = scopes_of(key_for_reading(journals));
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
    for (const auto& [key, value] : options_of(options_json)) {
      if (const auto* text = std::get_if<std::string>(&value); key == "tag" && text != nullptr) {
        reading.tag = *text;
      } else if (key != "thresholds" || !take_thresholds(thresholds, value)) {
        refuse_key(key, "Options: thresholds (an object of numbers), tag");
      }
    }
    return new_text(timeline_json(timeline_of(read_trace(given, reading), given, thresholds)));
  });
}

int32_t tare_health_simulate(tare_text** out, const char* const* paths, uint64_t path_count, const char* options_json,
                             tare_error* error) {
  return guard_making(out, error, [&] {
    SimulateGiven given = parse_simulate(options_json);
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

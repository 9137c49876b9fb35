#include <fmt/format.h>

#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/config_values.hpp"
#include "lib/scaler/quantizer.hpp"

namespace tare {
namespace {

using kernels::fp8::Format;
using kernels::fp8::Scaling;

struct RecipeSpec {
  const char* name;
  Scaling scaling;
  const char* formats;  ///< the first is the default
  bool chooses_scale;   ///< takes "force_pow_2_scales" and "amax_epsilon"
  bool power_of_two;    ///< what the first is without being said
};

constexpr RecipeSpec recipes[] = {
    {"current", Scaling::current, "e4m3, e5m2", true, false},
    {"delayed", Scaling::delayed, "e4m3, e5m2", false, false},
    {"mxfp8", Scaling::mxfp8, "e4m3, e5m2", false, false},
    {"blockwise_1d", Scaling::blockwise_1d, "e4m3, e5m2", true, true},
    {"blockwise_2d", Scaling::blockwise_2d, "e4m3, e5m2", true, true},
    {"nvfp4", Scaling::nvfp4, "e2m1", false, false},
};

std::string recipe_names() {
  std::string names;
  for (const RecipeSpec& recipe : recipes) names.append(names.empty() ? "" : ", ").append(recipe.name);
  return names;
}

const RecipeSpec& recipe_in(const StateSection& config) {
  const std::string name = text_in_config(config, "recipe");
  for (const RecipeSpec& recipe : recipes) {
    if (name == recipe.name) return recipe;
  }
  if (name.empty()) refuse_config("no \"recipe\"", "Recipes: " + recipe_names() + ".");
  refuse_config(fmt::format("there is no recipe \"{}\"", escaped(name)), "Recipes: " + recipe_names() + ".");
}

struct FormatName {
  std::string_view name;
  Format format;
};

constexpr FormatName formats[] = {{"e4m3", Format::e4m3}, {"e5m2", Format::e5m2}, {"e2m1", Format::e2m1}};

Format format_in(const StateSection& config, const RecipeSpec& recipe) {
  const std::string_view allowed = recipe.formats;
  const std::string given = text_in_config(config, "format");
  const std::string_view name = given.empty() ? allowed.substr(0, 4) : std::string_view(given);
  for (const FormatName& one : formats) {
    if (name == one.name && allowed.find(name) != std::string_view::npos) return one.format;
  }
  refuse_config(fmt::format("recipe \"{}\" has no format \"{}\"", recipe.name, escaped(name)),
                fmt::format("Formats: {}.", allowed));
}

bool truth_of(const StateValue& value, const std::string& key) {
  const bool* truth = std::get_if<bool>(&value);
  if (truth == nullptr) refuse_config(fmt::format("{} is neither true nor false", key));
  return *truth;
}

/// What TransformerEngine's NVFP4 may do besides, and nothing here does.
void refuse_unless_false(const StateValue& value, const std::string& key, const char* instead) {
  if (!truth_of(value, key)) return;
  throw Error(Status::unsupported, fmt::format("the configuration: \"{}\" is not done: {}", key, instead),
              fmt::format("Leave \"{}\" out.", key));
}

float epsilon_of(const StateValue& value) {
  double epsilon = -1;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) epsilon = static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) epsilon = *number;
  const auto rounded = static_cast<float>(epsilon);
  if (!(epsilon >= 0) || !std::isfinite(rounded)) {
    refuse_config("amax_epsilon is no finite number from 0 on that a float can hold");
  }
  return rounded;
}

}  // namespace

QuantizerConfig parse_quantizer_config(const char* json) {
  const StateSection config = members_of_json(json, "the configuration");
  const RecipeSpec& recipe = recipe_in(config);
  QuantizerConfig parsed{{recipe.scaling, format_in(config, recipe), recipe.power_of_two ? 1 : 0, 0},
                         cuda_device_in_config(config),
                         thread_count(config.find("threads"))};
  for (const auto& [key, value] : config) {
    if (key == "recipe" || key == "format" || key == "device" || key == "threads") continue;
    if (recipe.chooses_scale && key == "force_pow_2_scales") {
      parsed.how.power_of_two = truth_of(value, key) ? 1 : 0;
    } else if (recipe.chooses_scale && key == "amax_epsilon") {
      parsed.how.epsilon = epsilon_of(value);
    } else if (recipe.scaling == Scaling::nvfp4 && key == "stochastic_rounding") {
      refuse_unless_false(value, key, "values are rounded to nearest even");
    } else if (recipe.scaling == Scaling::nvfp4 && key == "random_hadamard_transform") {
      refuse_unless_false(value, key, "values are quantised as they are");
    } else {
      refuse_config(fmt::format("recipe \"{}\" has no \"{}\"", recipe.name, escaped(key)),
                    fmt::format("Allowed: recipe, format, device, threads{}",
                                recipe.chooses_scale ? ", force_pow_2_scales, amax_epsilon" : ""));
    }
  }
  return parsed;
}

}  // namespace tare

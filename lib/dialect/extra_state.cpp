#include "lib/dialect/extra_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/called.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/grouped_linear.hpp"

namespace tare {
namespace {

constexpr TeRelease first_without_buffers{1, 6};
constexpr TeRelease first_with_recipe{2, 0};
constexpr TeRelease first_without_interval{2, 2};

struct Column {
  std::string_view role;
  std::size_t direction;
  std::size_t place;  ///< among the columns of one matrix product
};

constexpr auto columns = std::to_array<Column>({
    {"input", 0, 0},
    {"weight", 0, 1},
    {"output", 0, 2},
    {"grad_output", 1, 0},
    {"grad_input", 1, 1},
});
constexpr std::array<std::size_t, 2> columns_of_product{3, 2};
constexpr std::array<std::string_view, 2> suffixes{"_fwd", "_bwd"};

/// "input.1": the second product's.
std::pair<std::string_view, std::size_t> parted(std::string_view role) {
  const std::size_t dot = role.find('.');
  std::size_t product = 0;
  if (dot != role.npos) std::from_chars(role.data() + dot + 1, role.data() + role.size(), product);
  return {role.substr(0, dot), product};
}

/// Puts slots where TransformerEngine's arrays have them.
class Gathering {
 public:
  Gathering(std::string name, std::size_t products, std::size_t length) : name_(std::move(name)) {
    state_.products = static_cast<std::int64_t>(products);
    state_.is_grouped = state_.products > most_products_of_others;
    state_.history_length = static_cast<std::int64_t>(length);
    for (std::size_t d = 0; d < state_.directions.size(); ++d) {
      const std::size_t width = columns_of_product[d] * products;
      state_.directions[d].scale.resize(width);
      state_.directions[d].history.resize(width * length);
      left_ += width;
    }
  }

  /// The history by TransformerEngine's own index.
  void add(std::string_view role, float scale, double format_max, const std::function<float(std::size_t)>& amax) {
    const auto [word, product] = parted(role);
    const auto column =
        std::find_if(columns.begin(), columns.end(), [&wanted = word](const Column& c) { return c.role == wanted; });
    if (column == columns.end() || product >= static_cast<std::size_t>(state_.products)) refuse();
    ExtraState::Direction& direction = state_.directions[column->direction];
    const std::size_t width = direction.scale.size();
    const std::size_t at = product * columns_of_product[column->direction] + column->place;
    direction.scale[at] = scale;
    direction.format_max = format_max;
    for (std::size_t row = 0; row * width < direction.history.size(); ++row) {
      direction.history[row * width + at] = amax(row);
    }
    --left_;
  }

  ExtraState take() && {
    if (left_ != 0) refuse();
    return std::move(state_);
  }
  ExtraState& state() { return state_; }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Status::refused,
                fmt::format("'{}': is not what a module of TransformerEngine from 0.6 on keeps", name_),
                "its tensors would be input, weight, output, grad_output and grad_input");
  }

  std::string name_;
  ExtraState state_;
  std::size_t left_ = 0;
};

std::string word_of(const FoundScaler& state, std::string_view name, const std::string& otherwise) {
  const Field* field = state.find(name);
  const auto* word = field == nullptr ? nullptr : std::get_if<std::string>(&field->value.data);
  return word == nullptr ? otherwise : *word;
}

double number_of_field(const FoundScaler& state, std::string_view name, double otherwise) {
  const Field* field = state.find(name);
  return field == nullptr || field->value.number() == nullptr ? otherwise : field->value.as_double();
}

/// te.ops came with recipes, and their states have no columns for what a product gives.
bool is_of_operation(const FoundScaler& state, const std::vector<Fp8Slot>& slots) {
  const auto is_output = [](const Fp8Slot& slot) { return slot.role.starts_with("output"); };
  const auto is_recipe = [](const Field& field) { return field.name.find("recipe.") != field.name.npos; };
  return std::ranges::none_of(slots, is_output) && std::ranges::any_of(state.fields, is_recipe);
}

void take_recipe(const FoundScaler& from, ExtraState& state) {
  state.margin = number_of_field(from, "recipe.margin", 0);
  state.amax_compute_algo = word_of(from, "recipe.amax_compute_algo", "max");
  state.reduce_amax = number_of_field(from, "recipe.reduce_amax", 1) != 0;
  state.fp8_dpa = number_of_field(from, "recipe.fp8_dpa", 0) != 0;
  state.fp8_mha = number_of_field(from, "recipe.fp8_mha", 0) != 0;
}

Document number(double value) {
  const bool is_whole = std::floor(value) == value && std::abs(value) < 1e9;
  return is_whole ? Document{static_cast<std::int64_t>(value)} : Document{value};
}

Document tensor(const std::vector<float>& values, std::vector<std::int64_t> shape) {
  DocumentTensor made{element_type("float32"), std::move(shape), {}};
  made.elements.reserve(values.size() * sizeof(float));
  for (const float value : values) append_le(made.elements, value);
  return {std::move(made)};
}

/// The columns of all inputs, all weights, all outputs.
ExtraState::Direction by_tensor(const ExtraState::Direction& direction, std::size_t products) {
  ExtraState::Direction ordered = direction;
  const std::size_t width = direction.scale.size();
  const std::size_t tensors = width / products;
  const auto from = [&](std::size_t column) { return column % products * tensors + column / products; };
  for (std::size_t column = 0; column < width; ++column) ordered.scale[column] = direction.scale[from(column)];
  for (std::size_t at = 0; at < direction.history.size(); ++at) {
    ordered.history[at] = direction.history[at - at % width + from(at % width)];
  }
  return ordered;
}

/// A state of GroupedLinear as the release orders its columns; other modules' as it is.
ExtraState in_order_of(const ExtraState& state, TeRelease release) {
  const bool has_orders = state.is_grouped && state.products > 1;
  if (!has_orders || release >= first_by_product) return state;
  if (keeps_recipe(release)) {
    throw Error(
        Status::refused,
        fmt::format("TransformerEngine {}.{} has the columns of GroupedLinear in another order than 2.3 and later, "
                    "which nothing in its state tells",
                    release.major, release.minor),
        "re-encode for 2.3 or later, and then `tare fp8 regroup CHECKPOINT --layer GLOB --for 2.2`");
  }
  ExtraState ordered = state;
  for (ExtraState::Direction& direction : ordered.directions) {
    direction = by_tensor(direction, static_cast<std::size_t>(state.products));
  }
  return ordered;
}

std::vector<float> reciprocals(const std::vector<float>& scales) {
  std::vector<float> inverse(scales.size());
  std::transform(scales.begin(), scales.end(), inverse.begin(), [](float scale) { return 1.0F / scale; });
  return inverse;
}

constexpr std::string_view recipe_module = "transformer_engine.common.recipe";

/// Format(_FormatHelper(448, 57344)): HYBRID by its value, as pickle writes an enumeration's member.
Document format_of(const ExtraState& state) {
  constexpr double e4m3 = 448, e5m2 = 57344;
  const double forward = state.directions[0].format_max, backward = state.directions[1].format_max;
  if (forward != e4m3 || (backward != e4m3 && backward != e5m2)) {
    throw Error(Status::refused,
                fmt::format("formats whose largest numbers are {} and {} are none of DelayedScaling",
                            float_text(forward), float_text(backward)),
                "E4M3 (448, 448) and HYBRID (448, 57344) are");
  }
  DocumentCall helper{std::string(recipe_module), "_FormatHelper", {number(forward), number(backward)}};
  return {DocumentCall{std::string(recipe_module), "Format", {{std::move(helper)}}}};
}

Document recipe_of(const ExtraState& state, TeRelease release) {
  DocumentMap attributes{{"margin", number(state.margin)}};
  if (release < first_without_interval) attributes.push_back({"interval", {std::int64_t{-1}}});
  attributes.push_back({"fp8_format", format_of(state)});
  attributes.push_back({"amax_history_len", {state.history_length}});
  attributes.push_back({"amax_compute_algo", {state.amax_compute_algo}});
  attributes.push_back({"scaling_factor_compute_algo", {}});
  attributes.push_back({"reduce_amax", {state.reduce_amax}});
  attributes.push_back({"fp8_dpa", {state.fp8_dpa}});
  attributes.push_back({"fp8_mha", {state.fp8_mha}});
  return {DocumentObject{std::string(recipe_module), "DelayedScaling", std::move(attributes)}};
}

}  // namespace

TeRelease parse_te_release(const std::string& text) {
  std::string_view rest = text;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  TeRelease release;
  const auto major = std::from_chars(rest.data(), rest.data() + rest.size(), release.major);
  const bool has_minor = major.ec == std::errc() && major.ptr != rest.data() + rest.size() && *major.ptr == '.';
  const auto minor = has_minor ? std::from_chars(major.ptr + 1, rest.data() + rest.size(), release.minor) : major;
  if (has_minor && minor.ec == std::errc() && (minor.ptr == rest.data() + rest.size() || *minor.ptr == '.')) {
    return release;
  }
  throw Error(Status::invalid_argument, fmt::format("'{}' is no release of TransformerEngine", text),
              "write it as 1.13 or 2.4");
}

bool keeps_recipe(TeRelease release) {
  if (release >= first_with_recipe) return true;
  if (release >= first_without_buffers) return false;
  throw Error(Status::refused,
              fmt::format("TransformerEngine {}.{} stores, in every module's state, the buffers that all modules share "
                          "(global_fp8_buffer), which no later release keeps",
                          release.major, release.minor),
              "1.6 and later read what tare writes");
}

bool same_values(const ExtraState& a, const ExtraState& b) {
  const auto same_bits = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](float p, float q) {
      return std::bit_cast<std::uint32_t>(p) == std::bit_cast<std::uint32_t>(q);
    });
  };
  return std::equal(a.directions.begin(), a.directions.end(), b.directions.begin(), [&](const auto& x, const auto& y) {
    return same_bits(x.scale, y.scale) && same_bits(x.history, y.history) && x.format_max == y.format_max;
  });
}

ExtraState extra_state_of(const FoundScaler& state) {
  const auto recipes = std::count_if(state.fields.begin(), state.fields.end(),
                                     [](const Field& field) { return field.name == "scale_fwd"; });
  const std::vector<Fp8Slot> slots = fp8_slots(state);
  if (slots.empty() || recipes != 1 || is_of_operation(state, slots)) {
    throw Error(
        Status::refused,
        fmt::format("{}: is not the state of a module as TransformerEngine's layers keep it", called(state.path)),
        "te.ops, which keep two dicts, came with 2.0, and their state is theirs alone");
  }
  const auto products = static_cast<std::size_t>(
      std::count_if(slots.begin(), slots.end(), [](const Fp8Slot& slot) { return slot.role.starts_with("input"); }));
  Gathering gathering(state.path, products, slots.front().history_length());
  for (const Fp8Slot& slot : slots) {
    if (slot.history_length() != slots.front().history_length()) {
      throw Error(Status::refused, fmt::format("{}: has histories of several lengths", called(state.path)));
    }
    gathering.add(slot.role, static_cast<float>(slot.multiplier()), slot.format_max,
                  [&](std::size_t row) { return static_cast<float>(slot.stored_amax(row)); });
  }
  gathering.state().is_grouped |= is_of_grouped_linear(state);
  take_recipe(state, gathering.state());
  return std::move(gathering).take();
}

ExtraState extra_state_of(const Fp8Set& set, const SavedLayer& layer) {
  if (set.policy->name != "transformer_engine") {
    throw Error(Status::refused,
                fmt::format("a state of the policy {} is none of TransformerEngine's", set.policy->name));
  }
  const auto role = [&](std::size_t slot) { return std::string_view(set.names[slot]).substr(layer.name.size() + 1); };
  std::size_t products = 1;
  for (const std::size_t slot : layer.slots) products = std::max(products, parted(role(slot)).second + 1);
  const auto length = static_cast<std::size_t>(set.parameters.history_length);
  if (products > layer.slots.size()) {
    throw Error(Status::refused, fmt::format("'{}': has slots that are missing", layer.name));
  }
  Gathering gathering(layer.name, products, length);
  for (const std::size_t slot : layer.slots) {
    gathering.add(role(slot), set.scale[slot], static_cast<double>(fp8_largest(set.formats[slot])),
                  [&](std::size_t row) { return set.history[slot * length + row]; });
  }
  gathering.state().margin = set.parameters.margin;
  gathering.state().amax_compute_algo = set.parameters.algorithm == 0 ? "max" : "most_recent";
  return std::move(gathering).take();
}

std::vector<SavedLayer> layers_of(const Fp8Set& set) {
  std::vector<SavedLayer> layers;
  std::unordered_map<std::string_view, std::size_t, KeyedHash> known;
  for (std::size_t slot = 0; slot < set.names.size(); ++slot) {
    const std::string_view name = set.names[slot];
    const std::size_t slash = name.rfind('/');
    const std::string_view layer = name.substr(0, slash);
    const auto [at, is_new] = known.try_emplace(layer, layers.size());
    if (is_new) layers.push_back({std::string(layer), {}});
    if (slash != name.npos) layers[at->second].slots.push_back(slot);
  }
  return layers;
}

std::string unkept(const ExtraState& state, TeRelease release) {
  if (keeps_recipe(release)) return {};
  const ExtraState usual;
  std::string list;
  const auto tell = [&](bool is_usual, const std::string& what) {
    if (!is_usual) list += (list.empty() ? "" : ", ") + what;
  };
  tell(state.margin == usual.margin, fmt::format("recipe.margin = {}", float_text(state.margin)));
  tell(state.amax_compute_algo == usual.amax_compute_algo, "recipe.amax_compute_algo = " + state.amax_compute_algo);
  tell(state.reduce_amax == usual.reduce_amax, "recipe.reduce_amax = False");
  tell(state.fp8_dpa == usual.fp8_dpa, "recipe.fp8_dpa = True");
  tell(state.fp8_mha == usual.fp8_mha, "recipe.fp8_mha = True");
  return list;
}

Document extra_state_document(const ExtraState& values, TeRelease release) {
  const ExtraState state = in_order_of(values, release);
  DocumentMap dict;
  if (keeps_recipe(release)) dict.push_back({"recipe", recipe_of(state, release)});
  for (std::size_t d = 0; d < suffixes.size(); ++d) {
    const ExtraState::Direction& direction = state.directions[d];
    const auto width = static_cast<std::int64_t>(direction.scale.size());
    const auto add = [&](std::string_view name, Document value) {
      dict.push_back({std::string(name).append(suffixes[d]), std::move(value)});
    };
    add("scale", tensor(direction.scale, {width}));
    if (!keeps_recipe(release)) add("scale_inv", tensor(reciprocals(direction.scale), {width}));
    add("amax_history", tensor(direction.history, {state.history_length, width}));
  }
  dict.push_back({"extra_fp8_variables",
                  {DocumentMap{{"fp8_checkpoint", {true}},
                               {"num_gemms", {state.products}},
                               {"fp8_max_fwd", number(state.directions[0].format_max)},
                               {"fp8_max_bwd", number(state.directions[1].format_max)}}}});
  return {std::move(dict)};
}

}  // namespace tare

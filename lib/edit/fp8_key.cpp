#include "lib/edit/fp8_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/base/glob.hpp"
#include "lib/dialect/called.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/edit/field_key.hpp"

namespace tare {
namespace {

using What = Fp8Key::What;

constexpr auto beginnings = std::to_array<std::pair<std::string_view, What>>({
    {"scale.", What::scale},
    {"amax_history.", What::history},
});

const Field* native_field(const FoundScaler& state, std::string_view key) {
  if (key.starts_with(native_prefix)) key.remove_prefix(native_prefix.size());
  return state.find(key);
}

/// One number, or an array of them.
Value value_of(const std::vector<double>& numbers) {
  if (numbers.size() == 1) return {numbers.front(), "float"};
  Bytes bytes;
  for (const double number : numbers) append_le(bytes, number);
  PackedArray array{element_type("float64"), {static_cast<std::int64_t>(numbers.size())}, std::move(bytes)};
  return {std::move(array), "list"};
}

}  // namespace

std::optional<Fp8Key> parse_fp8_key(std::string_view key) {
  for (const auto& [beginning, what] : beginnings) {
    if (key.starts_with(beginning) && key.size() > beginning.size()) {
      return Fp8Key{what, std::string(key.substr(beginning.size()))};
    }
  }
  return std::nullopt;
}

Fp8Key fp8_key_of(const FoundScaler& state, std::string_view key) {
  if (auto parsed = parse_fp8_key(key)) return *std::move(parsed);
  if (const Field* field = native_field(state, key)) return {What::native, field->name};
  std::string names;
  for (const Field& field : state.fields) names += (names.empty() ? "" : ", ") + field.name;
  throw Error(Status::invalid_argument, fmt::format("{}: {} is no key of its FP8 state", called(state.path), key),
              fmt::format("scale.TENSOR, amax_history.TENSOR, or a field: {}", names));
}

bool is_fp8_key(const Checkpoint& checkpoint, const std::string& key, bool has_layers) {
  if (has_layers || parse_fp8_key(key)) return true;
  const auto any_has_it = [&](std::string_view kind) {
    return std::any_of(checkpoint.scalers.begin(), checkpoint.scalers.end(), [&](const Scaler& scaler) {
      return scaler.state().dialect->kind == kind && native_field(scaler.state(), key) != nullptr;
    });
  };
  // One of two recipes has more in front: what is given is told with the names that there are.
  const auto has_longer = [&](const Scaler& scaler) {
    return scaler.state().dialect->kind == "fp8" && std::ranges::any_of(scaler.state().fields, [&](const Field& field) {
             return field.name.ends_with("." + key);
           });
  };
  if (key.starts_with("recipe.") && std::ranges::any_of(checkpoint.scalers, has_longer)) return true;
  return any_has_it("fp8") && !any_has_it("loss_scale");
}

bool is_tensor(const FoundScaler& state, const Fp8Choice& choice, const Fp8Slot& slot, const std::string& name) {
  if (glob_matches(name, slot.role)) return true;
  return (choice.layer || choice.all) && glob_matches(name, tensor_of(state, slot));
}

Value fp8_value(const FoundScaler& state, const Fp8Key& key, const Fp8Choice& choice) {
  if (key.what == What::native) return state.find(std::string_view(key.name))->value;
  std::vector<Fp8Slot> slots = fp8_slots(state, choice.layer);
  std::erase_if(slots, [&](const Fp8Slot& slot) {
    return !is_tensor(state, choice, slot, key.name) || (key.what == What::history && slot.history == nullptr);
  });
  if (slots.size() != 1) {
    throw Error(Status::refused,
                fmt::format("{}: {} of its tensors match '{}'", called(state.path), slots.size(), key.name),
                "tare inspect --layer shows the tensors that it has");
  }
  const Fp8Slot& slot = slots.front();
  std::vector<double> numbers;
  const bool is_scale = key.what == What::scale;
  const std::uint64_t count = is_scale ? slot.scale_count() : slot.history_length();
  for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(is_scale ? slot.multiplier(i) : slot.stored_amax(i));
  return value_of(numbers);
}

}  // namespace tare

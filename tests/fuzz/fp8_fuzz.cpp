// FP8 state as a file may hold it: fields of many types and shapes in the layout of each framework, or a state of
// tare's own. Whatever reads or changes such state answers or refuses, and what it writes has the field's form. The
// input is the layout's number and a drawing for each of its fields, or behind `own_state` a JSON file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "lib/base/error.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/fp8_state.hpp"
#include "lib/dialect/tare_fp8.hpp"
#include "lib/edit/fp8_incoming.hpp"
#include "lib/edit/fp8_key.hpp"
#include "lib/edit/fp8_own.hpp"
#include "lib/edit/fp8_values.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;

namespace {

constexpr std::uint8_t own_state = 0xff;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "fp8_fuzz: %s\n", what.c_str());
  __builtin_trap();
}

/// The input, byte after byte; zeros behind its end.
class Draws {
 public:
  explicit Draws(ByteView bytes) : bytes_(bytes) {}
  std::uint8_t next() { return at_ < bytes_.size() ? std::to_integer<std::uint8_t>(bytes_[at_++]) : std::uint8_t{0}; }

  Bytes take(std::size_t count) {
    Bytes taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(static_cast<std::byte>(next()));
    return taken;
  }

 private:
  ByteView bytes_;
  std::size_t at_ = 0;
};

constexpr std::string_view types[] = {"float32",        "float16", "bfloat16", "float64", "float8_e4m3fn",
                                      "float8_e8m0fnu", "uint8",   "int64",    "bool",    "complex64"};
constexpr std::string_view words[] = {"max", "most_recent", "E4M3", "kfloat8_e5m2", ""};
constexpr std::string_view of_recipes[] = {"recipe.margin",
                                           "recipe.amax_compute_algo",
                                           "recipe.amax_history_len",
                                           "recipe.fp8_format.max_fwd",
                                           "extra_fp8_variables.num_gemms",
                                           "amax_counter"};

Value drawn_array(Draws& draws) {
  const ElementType type = element_type(types[draws.next() % std::size(types)]);
  std::vector<std::int64_t> shape(draws.next() % 4);
  std::size_t count = 1;
  for (std::int64_t& side : shape) count *= static_cast<std::size_t>(side = draws.next() % 8);
  const std::string name = fmt::format("tensor:{}[{}]", type.name, fmt::join(shape, ","));
  const Bytes bytes = draws.take(count * type.size);
  if (shape.empty()) return {element_value(type, bytes.data()).data, name};
  return {PackedArray{type, std::move(shape), bytes}, name};
}

std::optional<Value> drawn_value(Draws& draws) {
  switch (draws.next() % 8) {
    case 0:
      return std::nullopt;
    case 1:
      return Value{static_cast<double>(static_cast<std::int8_t>(draws.next())), "float"};
    case 2:
      return Value{Integer{static_cast<std::int8_t>(draws.next()), {}}, "int"};
    case 3:
      return Value{std::string(words[draws.next() % std::size(words)]), "str"};
    default:
      return drawn_array(draws);
  }
}

/// Of all fields that its rules know, each once.
std::vector<std::string_view> field_names(const Dialect& dialect) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Fp8Convention& convention : dialect.fp8.conventions) {
    for (const Fp8Rule& rule : convention.rules) {
      for (const auto name : {rule.scale, rule.scale_inv, rule.history, rule.max_field}) add(name);
    }
  }
  std::ranges::for_each(of_recipes, add);
  return names;
}

/// Of the framework that the number means.
FoundScaler drawn_state(std::uint8_t number, Draws& draws) {
  std::vector<const Dialect*> known;
  for (const Dialect* dialect : dialects()) {
    if (!dialect->fp8.conventions.empty()) known.push_back(dialect);
  }
  FoundScaler state;
  state.dialect = known[number % known.size()];
  state.path = "layers.0._extra_state";
  for (const std::string_view name : field_names(*state.dialect)) {
    auto value = drawn_value(draws);
    if (!value) continue;
    Field field;
    field.name = name;
    field.value = std::move(*value);
    field.editable = true;
    state.fields.push_back(std::move(field));
  }
  return state;
}

FoundScalers states_of(ByteView input) {
  Draws draws(input);
  FoundScalers states;
  const std::uint8_t number = draws.next();
  if (number != own_state) {
    states.push_back(drawn_state(number, draws));
    return states;
  }
  const ByteView file = input.subspan(1);
  const auto container = test::open_image({file.begin(), file.end()});
  std::vector<Finding> findings;
  return find_scalers(container->tree(), {.name = "state.json"}, findings);
}

std::size_t size_of(const Value& value) {
  const auto* array = std::get_if<PackedArray>(&value.data);
  return array == nullptr ? 0 : array->bytes().size();
}

/// With the fields as they become.
FoundScaler changed(FoundScaler state, const std::vector<NewField>& fields) {
  for (const NewField& made : fields) {
    for (Field& field : state.fields) {
      if (field.name == made.name) field.value = made.after;
    }
  }
  return state;
}

/// A change of numbers alone: arrays keep their types and sizes.
void require_same_form(const FoundScaler& state, const std::vector<NewField>& fields) {
  for (const NewField& made : fields) {
    const Field* field = state.find(std::string_view(made.name));
    if (field == nullptr) fail("a field that was not there: " + made.name);
    const bool is_array = size_of(field->value) != 0;
    if (size_of(field->value) != size_of(made.after) || (is_array && field->value.type != made.after.type))
      fail("another form: " + made.name);
  }
}

/// Whose numbers hold 16 whatever they stand for.
bool holds_sixteen(const Fp8Slot& slot) {
  return slot.meaning == ScaleMeaning::multiplier && element_type_of(slot.scale->value).name == "float32";
}

void set_scales(const FoundScaler& state) {
  const auto fields = new_fp8_values(state, *parse_fp8_key("scale.*"), "16", true);
  require_same_form(state, fields);
  const FoundScaler after = changed(state, fields);
  for (const Fp8Slot& slot : fp8_slots(after)) {
    if (!holds_sixteen(slot)) continue;
    for (std::uint64_t i = 0; i < slot.scale_count(); ++i) {
      if (slot.multiplier(i) != 16) fail("the new scale is not there: " + slot.role);
    }
  }
}

void move_into(const FoundScaler& from, const FoundScaler& into) {
  const FoundScaler* const layer = &from;
  const ScalerState state = is_tare_fp8(from) ? tare_fp8_state(from) : fp8_state_of({&layer, 1});
  require_same_form(into, IncomingFp8(state).fields_of(into, {}, true));
}

/// A refusal is an answer; that an array lacks the element to be changed is none.
template <typename Work>
void tried(Work work) {
  try {
    work();
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("none of number") != std::string_view::npos) fail(error.what());
  }
}

void read(const FoundScaler& state) {
  judge(state);
  for (const Fp8Slot& slot : fp8_slots(state)) {
    summary_of(slot);
    static_cast<void>(slot.history_by_age());
    tried([&] { fp8_value(state, {Fp8Key::What::scale, slot.role}); });
    tried([&] { fp8_value(state, {Fp8Key::What::history, slot.role}); });
  }
  layers_in(state);
  if (!is_tare_fp8(state)) tried([&] { extra_state_of(state); });
}

void change(const FoundScaler& state) {
  tried([&] { set_scales(state); });
  for (const char* key : {"scale.*", "amax_history.*"}) {
    for (const char* value : {"0", "3", "2^-9"}) {
      for (const bool force : {false, true}) {
        tried([&] { require_same_form(state, new_fp8_values(state, *parse_fp8_key(key), value, force)); });
      }
    }
  }
  for (const Field& field : state.fields) {
    tried([&] { require_same_form(state, new_fp8_values(state, {Fp8Key::What::native, field.name}, "2", true)); });
  }
  tried([&] { require_same_form(state, reset_fp8(state, 0)); });
  tried([&] { require_same_form(state, recomputed_fp8(state)); });
  for (const std::int64_t length : {1, 3, 9}) {
    tried([&] { reset_fp8(state, length); });
    tried([&] { read(changed(state, resized_fp8(state, length))); });
  }
  if (is_tare_fp8(state)) {
    tried([&] { renamed_slots(state, {}, "layers", "blocks"); });
  } else {
    for (const TeRelease release : {TeRelease{2, 2}, TeRelease{2, 4}})
      tried([&] { require_same_form(state, regrouped_fp8(state, release)); });
  }
  tried([&] { move_into(state, state); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FoundScalers states;
  try {
    states = states_of(std::as_bytes(std::span(data, size)));
  } catch (const Error&) {
    return 0;  // no file of tare's
  }
  for (const FoundScaler& state : states) {
    if (state.dialect->kind != "fp8") continue;
    read(state);
    change(state);
  }
  return 0;
}

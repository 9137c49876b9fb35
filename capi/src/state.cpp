#include <tare/tare.h>

#include <algorithm>
#include <memory>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/report/report.hpp"
#include "lib/state/convert.hpp"
#include "lib/state/fp8_convert.hpp"
#include "lib/state/fp8_policy.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

/// The policy's name is a value too.
StateValue value_at(const tare_state* state, const char* key) {
  require(state, "state");
  require(key, "key");
  if (std::string_view(key) == "policy") return state->state.policy;
  return get(state->state, key);
}

/// `read` makes what is wanted of the value.
template <class Out, class Read>
int32_t read_value(Out* out, const tare_state* state, const char* key, tare_error* error, const Read& read) {
  return guard(error, [&] {
    require(out, "out");
    *out = read(value_at(state, key));
  });
}

int32_t set_value(tare_state* state, const char* key, tare_error* error, const auto& make_value) {
  return guard(error, [&] {
    require(state, "state");
    require(key, "key");
    if (std::string_view(key) == "policy") {
      throw Error(Status::invalid_argument, "the policy of a state cannot be changed",
                  "Make a state of the other policy.");
    }
    set(state->state, key, make_value());
  });
}

const StateArray& array_at(const StateValue& value, const char* key) {
  const auto* array = std::get_if<StateArray>(&value);
  if (array != nullptr) return *array;
  throw Error(Status::mismatch,
              std::string(key) + " is " + std::string(words_for(kind_of(value))) + ", an array is meant");
}

std::vector<double> numbers_of(const StateValue& value, const char* key) {
  const StateArray& array = array_at(value, key);
  std::vector<double> numbers;
  numbers.reserve(array.size());
  std::visit(
      [&](const auto& list) {
        for (const auto& item : list) numbers.push_back(number_of(StateValue(static_cast<StateValue>(item)), key));
      },
      array.values);
  return numbers;
}

/// "deepspeed fused": a policy, and its variant behind a space.
ConversionTarget target_of(std::string_view policy) {
  const std::size_t space = policy.find(' ');
  if (space == policy.npos) return {std::string(policy), {}, {}};
  return {std::string(policy.substr(0, space)), std::string(policy.substr(space + 1)), {}};
}

tare_state* new_state(LoadedState loaded) {
  return new tare_state{.state = std::move(loaded.state), .findings = std::move(loaded.findings)};
}

/// An array that is there keeps its dimensions: one of several takes as many elements as it has.
std::vector<uint64_t> shape_for(const tare_state* state, const char* key, uint64_t count) {
  const StateValue* value = find(state->state, key);
  const auto* array = value == nullptr ? nullptr : std::get_if<StateArray>(value);
  if (array == nullptr || array->shape.size() < 2) return {count};
  if (array->size() == count) return array->shape;
  throw Error(Status::mismatch,
              std::string(key) + " has " + std::to_string(array->size()) + " elements in " +
                  std::to_string(array->shape.size()) + " dimensions, " + std::to_string(count) + " are given",
              "Give all of them, in C order.");
}

std::vector<double> given(const double* values, uint64_t count) {
  if (count > 0) require(values, "values");
  return {values, values + count};
}

}  // namespace

int32_t tare_state_read(tare_state** out, const char* path, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    return new_state(read_state_file(path));
  });
}

int32_t tare_state_findings(tare_text** out, const tare_state* state, tare_error* error) {
  return guard_making(out, error, [&] {
    require(state, "state");
    return new_text(findings_json(state->findings));
  });
}

int32_t tare_state_write(const tare_state* state, const char* path, const char* options_json, tare_error* error) {
  return guard(error, [&] {
    require(state, "state");
    require(path, "path");
    write_state_file(state->state, path, parse_state_file_options(options_json));
  });
}

int32_t tare_state_from_json(tare_state** out, const char* text, uint64_t size, tare_error* error) {
  return guard_making(out, error, [&] {
    require(text, "text");
    return new tare_state{.state = state_from_json({text, static_cast<std::size_t>(size)}, "the state")};
  });
}

int32_t tare_state_to_json(tare_text** out, const tare_state* state, tare_error* error) {
  return guard_making(out, error, [&] {
    require(state, "state");
    return new_text(state_to_json(state->state));
  });
}

int32_t tare_state_kind(int32_t* out, const tare_state* state, const char* key, tare_error* error) {
  return read_value(out, state, key, error,
                    [](const StateValue& value) { return static_cast<int32_t>(kind_of(value)); });
}

int32_t tare_state_number(double* out, const tare_state* state, const char* key, tare_error* error) {
  return read_value(out, state, key, error, [&](const StateValue& value) { return number_of(value, key); });
}

int32_t tare_state_integer(int64_t* out, const tare_state* state, const char* key, tare_error* error) {
  return read_value(out, state, key, error, [&](const StateValue& value) { return integer_of(value, key); });
}

int32_t tare_state_text(tare_text** out, const tare_state* state, const char* key, tare_error* error) {
  return guard_making(out, error, [&] {
    const StateValue value = value_at(state, key);
    const auto* text = std::get_if<std::string>(&value);
    return new_text(text == nullptr ? value_to_json(value) : *text);
  });
}

int32_t tare_state_array(double* out, uint64_t* count, const tare_state* state, const char* key, tare_error* error) {
  return guard(error, [&] {
    require(count, "count");
    const std::vector<double> numbers = numbers_of(value_at(state, key), key);
    const uint64_t room = *count;
    *count = numbers.size();
    if (out == nullptr) return;
    if (room < numbers.size()) {
      throw Error(Status::invalid_argument, std::string(key) + " has " + std::to_string(numbers.size()) +
                                                " elements, there is room for " + std::to_string(room));
    }
    std::ranges::copy(numbers, out);
  });
}

int32_t tare_state_shape(uint64_t* out, uint64_t* rank, const tare_state* state, const char* key, tare_error* error) {
  return guard(error, [&] {
    require(rank, "rank");
    const StateValue value = value_at(state, key);
    const std::vector<uint64_t> shape = array_at(value, key).shape;
    const uint64_t room = *rank;
    *rank = shape.size();
    if (out == nullptr) return;
    if (room < shape.size()) {
      throw Error(Status::invalid_argument, std::string(key) + " has " + std::to_string(shape.size()) +
                                                " dimensions, there is room for " + std::to_string(room));
    }
    std::ranges::copy(shape, out);
  });
}

int32_t tare_state_count(uint64_t* out, const tare_state* state, tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(state, "state");
    *out = keys(state->state).size();
  });
}

int32_t tare_state_key(tare_text** out, const tare_state* state, uint64_t index, tare_error* error) {
  return guard_making(out, error, [&] {
    require(state, "state");
    const std::vector<std::string> all = keys(state->state);
    if (index >= all.size()) {
      throw Error(Status::invalid_argument,
                  "there is no key " + std::to_string(index) + ": the state has " + std::to_string(all.size()));
    }
    return new_text(all[static_cast<std::size_t>(index)]);
  });
}

int32_t tare_state_set_number(tare_state* state, const char* key, double value, tare_error* error) {
  return set_value(state, key, error, [&] { return StateValue(value); });
}

int32_t tare_state_set_integer(tare_state* state, const char* key, int64_t value, tare_error* error) {
  return set_value(state, key, error, [&] { return StateValue(value); });
}

int32_t tare_state_set_text(tare_state* state, const char* key, const char* value, tare_error* error) {
  return set_value(state, key, error, [&] { return StateValue(std::string(required_text(value, "value"))); });
}

int32_t tare_state_set_array(tare_state* state, const char* key, const double* values, uint64_t count,
                             tare_error* error) {
  return set_value(state, key, error, [&] {
    return StateValue(StateArray{shape_for(state, key, count), given(values, count)});
  });
}

int32_t tare_state_remove(tare_state* state, const char* key, tare_error* error) {
  return guard(error, [&] {
    require(state, "state");
    require(key, "key");
    const StateValue* meant = &get(state->state, key);
    for (StateSection* section :
         {&state->state.params, &state->state.fields, &state->state.statistics, &state->state.other}) {
      const auto entry = std::ranges::find(*section, meant, [](const auto& one) { return &one.value; });
      if (entry == section->end()) continue;
      section->erase(std::string(entry->name));
      return;
    }
  });
}

int32_t tare_state_clone(tare_state** out, const tare_state* state, tare_error* error) {
  return guard_making(out, error, [&] { return new_state({live(state, "state").state, state->findings}); });
}

int32_t tare_state_to_bytes(tare_text** out, const tare_state* state, const char* format, const char* options_json,
                            tare_error* error) {
  return guard_making(out, error, [&] {
    require(state, "state");
    require(format, "format");
    const Bytes bytes = state_file_bytes(state->state, format, parse_state_file_options(options_json));
    return new_text(std::string(as_text(bytes)));
  });
}

int32_t tare_state_from_bytes(tare_state** out, const void* data, uint64_t size, tare_error* error) {
  return guard_making(out, error, [&] {
    require(data, "data");
    const ByteView bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
    return new_state(state_from_bytes(bytes, "the state"));
  });
}

int32_t tare_state_convert(tare_state** out, const tare_state* state, const char* policy, tare_text** report,
                           tare_error* error) {
  if (report != nullptr) *report = nullptr;
  return guard_making(out, error, [&] {
    require(state, "state");
    require(policy, "policy");
    const bool is_fp8 = find_fp8_policy(state->state.policy) != nullptr;
    Conversion conversion = is_fp8 ? convert_fp8(state->state, policy) : convert(state->state, target_of(policy));
    std::unique_ptr<tare_text> text(report == nullptr ? nullptr : new_text(conversion_json(conversion)));
    auto* made = new tare_state{.state = std::move(conversion.state)};
    if (report != nullptr) *report = text.release();
    return made;
  });
}

void tare_state_destroy(tare_state* state) {
  destroy(state);
}

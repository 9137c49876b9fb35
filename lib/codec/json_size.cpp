#include "lib/codec/json_size.hpp"

#include <algorithm>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t too_many = limits::max_state_bytes + 1;
  std::uint64_t bytes = 0;
  return __builtin_mul_overflow(a, b, &bytes) ? too_many : std::min(bytes, too_many);
}

/// How long a value's text is at least.
struct LeastBytes {
  std::uint64_t operator()(const std::string& text) const { return text.size(); }
  std::uint64_t operator()(const StateArray& array) const {
    constexpr std::uint64_t item = 3;  // a digit or a bracket, a comma, a space
    std::uint64_t bytes = 0;
    std::uint64_t items = 1;
    for (const std::uint64_t size : array.shape) bytes += product(items = product(items, size), item);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&array.values)) {
      for (const std::string& text : *texts) bytes += text.size();
    }
    return bytes;
  }
  template <class Plain>
  std::uint64_t operator()(const Plain&) const {
    return 1;
  }
};

/// How long the text of an array is at most, nearly: indents are not counted.
std::size_t most_bytes(const StateValue& value) {
  constexpr std::size_t number = 26;  // "-1.7976931348623157e+308, "
  const auto* array = std::get_if<StateArray>(&value);
  if (array == nullptr || std::holds_alternative<std::vector<std::string>>(array->values)) return 0;
  const std::size_t rows = array->shape.empty() || array->shape.back() == 0 ? 0 : array->size() / array->shape.back();
  constexpr std::size_t row = 16;
  return number * array->size() + row * rows;
}

}  // namespace

std::size_t most_bytes_in_json(const ScalerState& state) {
  std::size_t bytes = 0;
  for (const StateSection* section : {&state.params, &state.fields, &state.statistics, &state.other}) {
    for (const auto& [name, value] : *section) bytes += most_bytes(value);
  }
  return std::min<std::size_t>(bytes, limits::max_state_bytes);
}

void require_room_in_json(std::uint64_t bytes) {
  if (bytes <= limits::max_state_bytes) return;
  throw Error(Status::unsupported,
              "the state is too big for JSON: at least " + std::to_string(bytes) + " bytes, at most " +
                  std::to_string(limits::max_state_bytes) + " are read",
              "Write it as HDF5 (.h5).");
}

void require_room_in_json(const ScalerState& state) {
  std::uint64_t bytes = 0;
  for (const StateSection* section : {&state.params, &state.fields, &state.statistics, &state.other}) {
    for (const auto& [name, value] : *section) bytes += std::visit(LeastBytes{}, value);
  }
  require_room_in_json(bytes);
}

}  // namespace tare

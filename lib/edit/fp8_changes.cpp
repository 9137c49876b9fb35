#include "lib/edit/fp8_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/called.hpp"

namespace tare {
namespace {

void write(NewField& field) {
  const auto& elements = std::get<NewElements>(field.data);
  if (auto* array = std::get_if<PackedArray>(&field.after.data)) {
    Bytes bytes = array->bytes();
    for (const NewElement& element : elements) {
      const Bytes one = element_bytes(array->type, element.value, std::endian::little);
      for_each_index(element, [&](std::uint64_t index) {
        if (index >= array->count()) {
          throw Error(Status::corrupt,
                      fmt::format("{}: has {} elements, none of number {}", field.name, array->count(), index));
        }
        std::copy(one.begin(), one.end(), bytes.begin() + static_cast<std::ptrdiff_t>(index * one.size()));
      });
    }
    *array = {array->type, array->shape(), std::move(bytes)};
    return;
  }
  const ElementType element = element_type_of(field.after);
  Value* one = &field.after;
  while (auto* list = std::get_if<ValueList>(&one->data)) one = &list->front();
  const double value = elements.back().value;
  one->data = element.size == 0
                  ? Value{value, {}}.data
                  : element_value(element, element_bytes(element, value, std::endian::little).data()).data;
}

/// What the element of a scale's field is for `scale`: of a byte that stands for a power of two, the byte.
double element_for(const Field& field, double scale) {
  const ElementType type = scale_type(field);
  const bool is_code = type.name != element_type_of(field.value).name && type.size != 0;
  if (!is_code) return scale;
  return std::to_integer<int>(element_bytes(type, scale, std::endian::little).front());
}

/// "4 times what they are"
std::string effect_on_data(const Fp8Slot& slot, double multiplier) {
  const Fp8Summary summary = summary_of(slot);
  const std::string least = fmt::format("{:.6g}", summary.scale_min / multiplier);
  const std::string most = fmt::format("{:.6g}", summary.scale_max / multiplier);
  return least == most ? fmt::format("{} times what they are", least)
                       : fmt::format("between {} and {} times what they are", least, most);
}

}  // namespace

void Fp8Changes::set(const Field& field, const NewElement& element) {
  const auto [known, is_new] = numbers_.try_emplace(&field, fields_.size());
  if (is_new) fields_.push_back({field.name, field.value, NewElements()});
  std::get<NewElements>(fields_[known->second].data).push_back(element);
}

std::vector<NewField> Fp8Changes::take() && {
  for (NewField& field : fields_) write(field);
  return std::move(fields_);
}

NewScale scale_from(const Fp8Slot& slot, double multiplier) {
  return {multiplier, stored_scale(slot.meaning, multiplier)};
}

double kept_multiplier(const Fp8Slot& slot, const NewScale& scale) {
  const ElementType type = scale_type(*slot.scale);
  if (type.size == 0) return scale.multiplier;
  const Bytes kept = element_bytes(type, scale.stored, std::endian::little);
  return stored_scale(slot.meaning, element_value(type, kept.data()).as_double());
}

void set_scale(Fp8Changes& changes, const Fp8Slot& slot, const NewScale& scale) {
  const auto& [multiplier, stored] = scale;
  for (std::uint64_t i = 0; i < slot.scale_count(); ++i) {
    changes.set(*slot.scale, {slot.scale_index(i), element_for(*slot.scale, stored)});
    if (slot.scale_inv != nullptr) changes.set(*slot.scale_inv, {slot.scale_index(i), 1 / multiplier});
  }
}

void require_scale(double multiplier) {
  if (multiplier > 0 && multiplier <= std::numeric_limits<float>::max()) return;
  throw Error(Status::refused,
              fmt::format("{} is no scale: a positive number of float32's range", float_text(multiplier)),
              "--force writes it all the same");
}

void require_no_data(const FoundScaler& state, const Fp8Slot& slot, double multiplier) {
  if (slot.use != ScaleUse::stored_data) return;
  bool is_there = true;
  for (std::uint64_t i = 0; i < slot.scale_count(); ++i) is_there = is_there && slot.multiplier(i) == multiplier;
  if (is_there) return;
  throw Error(Status::refused,
              fmt::format("{}: {} goes with tensors of the file, whose values would become {}", called(state.path),
                          slot.scale->name, effect_on_data(slot, multiplier)),
              "quantise the tensor anew to give it another scale; --force changes the scale, and with it the model");
}

}  // namespace tare

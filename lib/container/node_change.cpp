#include "lib/container/node_change.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"

namespace tare {

NewNumber number_of(const NodeChange& change) {
  if (const auto* flag = std::get_if<bool>(&change.value)) return *flag;
  if (const auto* integer = std::get_if<Integer>(&change.value)) return *integer;
  if (const auto* number = std::get_if<double>(&change.value)) return *number;
  const bool adds =
      std::holds_alternative<NewDocument>(change.value) || std::holds_alternative<NewEntries>(change.value);
  throw Error(Status::refused, change.meaning + (adds ? ": this format has no room for what is not there"
                                                      : ": the field holds one number"));
}

double as_double(const NewNumber& number) {
  if (const auto* flag = std::get_if<bool>(&number)) return *flag ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<Integer>(&number)) return integer->as_double();
  return std::get<double>(number);
}

Bytes element_bytes(ElementType type, const NewElement& element, std::endian order) {
  const bool is_exact = type.name == "int64" || (type.name == "uint64" && element.integer.value_or(0) >= 0);
  if (!element.integer || !is_exact) return element_bytes(type, element.value, order);
  Bytes bytes(sizeof(std::int64_t));
  store(bytes.data(), *element.integer, order);
  return bytes;
}

NewElements elements_of(const NodeChange& change, const Tensor& tensor) {
  const auto refuse = [&](const char* problem) {
    throw Error(Status::refused, fmt::format("{}: {} {}", change.meaning, tensor.type_text(), problem));
  };
  if (tensor.type.size == 0) refuse("has elements of an unknown type");
  const auto* elements = std::get_if<NewElements>(&change.value);
  if (std::holds_alternative<NewTensor>(change.value)) refuse("keeps its shape in this format");
  if (elements == nullptr) {
    if (tensor.count() != 1) refuse("is no single number");
    const NewNumber number = number_of(change);
    const auto* integer = std::get_if<Integer>(&number);
    NewElement only{.value = as_double(number)};
    if (integer != nullptr && !integer->is_big()) only.integer = integer->value;
    return {only};
  }
  const std::uint64_t count = tensor.count();
  const auto is_beyond = [&](const NewElement& element) {
    return element.count != 0 &&
           (element.index >= count || (element.count - 1) * element.stride > count - 1 - element.index);
  };
  if (std::any_of(elements->begin(), elements->end(), is_beyond)) refuse("has no such element");
  return *elements;
}

std::string joined_meaning(std::span<const NodeChange> changes) {
  constexpr std::size_t most_told = 4;
  std::string joined;
  for (const NodeChange& change : changes.first(std::min(changes.size(), most_told))) {
    joined += (joined.empty() ? "" : ", ") + change.meaning;
  }
  if (changes.size() > most_told) joined += fmt::format(" and {} more", changes.size() - most_told);
  return joined;
}

}  // namespace tare

#include "lib/container/held_tensors.hpp"

#include <fmt/format.h>

#include <bit>

#include "lib/base/error.hpp"

namespace tare {
namespace {

double number_of(const NodeChange& change) {
  if (const auto* flag = std::get_if<bool>(&change.value)) return *flag ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<Integer>(&change.value)) return integer->as_double();
  return std::get<double>(change.value);
}

}  // namespace

Bytes changed_element(const Tensor& tensor, const NodeChange& change) {
  if (tensor.count() != 1 || tensor.type.size == 0) {
    throw Error(Status::refused, fmt::format("{}: {} is no single number", change.meaning, tensor.type_text()));
  }
  return element_bytes(tensor.type, number_of(change), std::endian::little);
}

}  // namespace tare

// How the files that are written from nothing spell the types of elements: a table for each format.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

/// A type's name, and the format's word for it.
using TypeSpelling = std::pair<std::string_view, std::string_view>;

/// Throws `refused` where the table has no word for it.
inline std::string_view spelled(std::span<const TypeSpelling> spellings, const ElementType& type) {
  for (const auto& [name, spelling] : spellings) {
    if (name == type.name) return spelling;
  }
  throw Error(Status::refused, "no scaler is stored as " + std::string(type.name));
}

}  // namespace tare

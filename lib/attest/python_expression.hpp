// What an expression of Python can reach, by its words: no more of its grammar is read than tells values from calls.
#pragma once

#include <cstdint>
#include <string_view>

namespace tare {

enum class Reach : std::uint8_t {
  values,      ///< literals, arithmetic, variables by their names, MONAI's references (`@id`)
  attributes,  ///< attributes as well, which may be functions for another to call
  calls,       ///< calls, subscripts, statements, or what is not followed
};

/// The furthest that anything in it reaches. Quotes that are not closed and comments count as code.
Reach reach_of(std::string_view expression);

}  // namespace tare

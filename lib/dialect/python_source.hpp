// Configurations that a trainer stores as Python's source: what a keyword is given there.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace tare {

/// How `keyword` is given in the statements of the outermost level that assign one of `names`: "512.0" in
/// "fp16 = dict(loss_scale=512.0)", "'dynamic'", "dict(init_scale=1.0" ... up to the next comma, bracket or line.
std::vector<std::string_view> keyword_values(std::string_view source, std::span<const std::string_view> names,
                                             std::string_view keyword);

}  // namespace tare

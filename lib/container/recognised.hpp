// A file of a known format whose scalers tare does not read yet: said plainly, checked as far as that is cheap.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lib/container/container.hpp"

namespace tare {

/// An empty map with a note `format-not-read` in front of `findings`. `format` as Container has it; `spelled` as people
/// call it ("HDF5"). Its change() refuses.
std::unique_ptr<Container> recognised(std::string_view format, std::string_view spelled,
                                      std::vector<Finding> findings = {});

}  // namespace tare

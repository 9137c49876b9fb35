// A container of files that are a variable each: the elements of one tensor, which the file's name or another file
// tells.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/container.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

/// Elements in little endian.
struct FileVariable {
  std::shared_ptr<const Source> source;
  Tensor tensor;
  Span elements;  ///< in `source`
  std::string key;
  std::size_t part;  ///< of the container's parts the one that is `source`
};

/// A map of the keys to tensors; without `parts` the only variable, which is a file by itself. `format` outlives it.
/// REQUIRES: without parts one variable.
std::unique_ptr<Container> open_file_variables(std::string_view format, std::vector<FileVariable> variables,
                                               std::vector<std::string> parts);

}  // namespace tare

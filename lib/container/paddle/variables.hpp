// What paddle.static.io.save_vars writes: a file a variable, which is named as the variable is.
// Source: paddle/fluid/framework/lod_tensor.cc, tensor_util.cc, framework.proto.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

bool starts_like_paddle_variable(ByteView head);
/// One file: a tensor without a name. Throws `corrupt` where it is cut off, or is not what its description says.
std::unique_ptr<Container> open_paddle_variable(const std::shared_ptr<const Source>& source);
/// The files of those names in `folder`: a map of the names to tensors. Throws likewise, and as the folder does.
std::unique_ptr<Container> open_paddle_variables(const SourceFolder& folder, const std::vector<std::string>& names);

}  // namespace tare

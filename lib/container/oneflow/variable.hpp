// What oneflow.save writes of a tensor: a folder with its elements (`out`) and, in protobuf's text format, its type and
// shape (`meta`). Source: python/oneflow/framework/check_point_v2.py, core/framework/variable_meta_info.proto.
#pragma once

#include <string>

#include "lib/container/file_variables.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// The files of a tensor's elements and of its type and shape below `folder`; paths in the checkpoint's folder.
std::string oneflow_elements_of(const std::string& folder);
std::string oneflow_description_of(const std::string& folder);
/// The tensor in the folder of that name, without a key. Throws `corrupt` where its files do not fit each other, and as
/// `checkpoint` does.
FileVariable read_oneflow_variable(const SourceFolder& checkpoint, const std::string& folder);

}  // namespace tare

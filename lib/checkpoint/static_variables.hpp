// A static graph's scaler as paddle.static.io.save_vars writes it: a file a variable, which its name tells.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/several_files.hpp"

namespace tare {

/// "loss_scaling_0": the file that the scaler is opened by.
bool is_scale_variable(std::string_view file_name);
/// "num_good_steps_0", "num_bad_steps_0"
bool is_counter_variable(std::string_view file_name);
/// The scale's file beside a counter's.
std::vector<std::string> scale_variables_of(std::string_view file_name);
/// Reads the scale's file and its counters'. REQUIRES: is_scale_variable(whole).
OpenedWhole open_static_variables(const std::shared_ptr<const SourceFolder>& folder, const std::string& whole);

}  // namespace tare

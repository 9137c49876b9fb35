#include "lib/checkpoint/static_variables.hpp"

#include <algorithm>
#include <iterator>

#include "lib/container/paddle/variables.hpp"
#include "lib/dialect/frameworks/paddle_static.hpp"

namespace tare {

bool is_scale_variable(std::string_view file_name) {
  const auto variable = static_variable(file_name);
  return variable && variable->role == Role::scale;
}

bool is_counter_variable(std::string_view file_name) {
  return static_variable(file_name) && !is_scale_variable(file_name);
}

std::vector<std::string> scale_variables_of(std::string_view file_name) {
  const auto variable = static_variable(file_name);
  if (!variable) return {};
  return {static_variables(variable->number).front()};
}

OpenedWhole open_static_variables(const std::shared_ptr<const SourceFolder>& folder, const std::string& whole) {
  OpenedWhole opened;
  opened.all_files = static_variables(static_variable(whole)->number);
  std::vector<std::string> there;
  std::copy_if(opened.all_files.begin(), opened.all_files.end(), std::back_inserter(there),
               [&](const std::string& name) { return folder->has(name); });
  opened.container = open_paddle_variables(*folder, there);
  opened.contents = "variables of a static graph";
  return opened;
}

}  // namespace tare

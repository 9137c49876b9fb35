#include "lib/container/keras_class.hpp"

#include <algorithm>
#include <iterator>

namespace tare {
namespace {

constexpr std::string_view keras_objects[] = {
#include "lib/container/keras_objects.inc"
};
constexpr std::string_view operations[] = {
#include "lib/container/keras_operations.inc"
};
static_assert(std::is_sorted(std::begin(keras_objects), std::end(keras_objects)));
static_assert(std::is_sorted(std::begin(operations), std::end(operations)));

/// Keras 3; Keras 2 under the names that it went by.
constexpr std::string_view keras_packages[] = {"keras", "tf_keras", "tensorflow.keras", "tensorflow.python.keras"};

/// Built-in functions are said to be of Python's builtins, among which Keras looks last.
bool is_from_keras(std::string_view module) {
  if (module.empty() || module == "builtins") return true;
  return std::any_of(std::begin(keras_packages), std::end(keras_packages), [&](std::string_view package) {
    return module.starts_with(package) && (module.size() == package.size() || module[package.size()] == '.');
  });
}

}  // namespace

bool is_keras_class(std::string_view module, std::string_view name) {
  return is_from_keras(module) && (std::binary_search(std::begin(keras_objects), std::end(keras_objects), name) ||
                                   std::binary_search(std::begin(operations), std::end(operations), name));
}

}  // namespace tare

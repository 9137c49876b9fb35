// Classes and functions that Keras ships and that a configuration may name: layers, optimizers, losses ... Listed one
// by one, as Keras also has some that run code (Lambda), load files (TFSMLayer, vocabularies) or fetch them.
#pragma once

#include <string_view>

namespace tare {

/// `module` as the configuration says it; empty where it says none, as before Keras 3.
bool is_keras_class(std::string_view module, std::string_view name);

}  // namespace tare

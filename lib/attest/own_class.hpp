// Classes that a framework makes of a text and that are its own: named by their whole path, never by a package alone,
// through whose modules anything that they import can be reached.
#pragma once

#include <string_view>

namespace tare {

/// Whether it is spelled as Python's classes are.
bool is_class_name(std::string_view name);

/// Whether a path goes through modules of its package alone, as far as their names tell: a module's attributes are also
/// the modules that it imports.
bool stays_inside(std::string_view module);

/// Layers, optimizers and schedules of torch's, which are made of numbers.
bool is_torch_class(std::string_view module, std::string_view name);

/// Whether `module` is one in which the package `owner` keeps what its configurations name, and `name` a class there.
/// Of torch's classes, too, whoever asks.
bool is_own_class(std::string_view owner, std::string_view module, std::string_view name);

}  // namespace tare

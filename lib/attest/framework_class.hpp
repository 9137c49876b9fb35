// The classes and functions that frameworks and Python itself put into checkpoints: known one by one, never by the
// module they are in, of which some function or other always runs whatever it is given.
#pragma once

#include <span>
#include <string_view>

#include "lib/dialect/dialect.hpp"

namespace tare {

/// Of one table, sorted: a framework, or a few small ones. Their constructors were read, as Dialect has it.
struct FrameworkTable {
  std::string_view framework;
  std::span<const ClassName> classes;
};

/// Those here, of who keeps no scaler in a shape of its own, then the dialects'.
std::span<const FrameworkTable> framework_tables();

/// Whether a table holds it, spelled just so.
bool is_framework_class(std::string_view module, std::string_view name);

}  // namespace tare

// The classes and functions that frameworks and Python itself put into checkpoints: known one by one, never by the
// module they are in, of which some function or other always runs whatever it is given.
#pragma once

#include <span>
#include <string_view>

namespace tare {

struct FrameworkClass {
  std::string_view module, name;
  friend auto operator<=>(const FrameworkClass&, const FrameworkClass&) = default;
};

/// Of one table, sorted: a framework, or a few small ones. Their constructors were read: none runs or imports what its
/// arguments say, nor opens a connection.
struct FrameworkTable {
  std::string_view framework;
  std::span<const FrameworkClass> classes;
};

std::span<const FrameworkTable> framework_tables();

/// Whether a table holds it, spelled just so.
bool is_framework_class(std::string_view module, std::string_view name);

}  // namespace tare

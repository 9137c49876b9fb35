// The lists are the union of what picklescan, fickling and modelscan know and of what was found beside it in the
// sources of Python, NumPy, torch and what is built on them.
#include "lib/container/pickle/globals/dangerous_global.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "lib/base/glob.hpp"

namespace tare {
namespace {

struct Row {
  std::string_view module, name;  ///< `*` stands for any characters
};

constexpr std::string_view packages[] = {
#include "lib/container/pickle/globals/dangerous/packages.inc"
};
constexpr std::string_view modules[] = {
#include "lib/container/pickle/globals/dangerous/modules.inc"
};
constexpr std::string_view names[] = {
#include "lib/container/pickle/globals/dangerous/names.inc"
};
constexpr Row globals[] = {
#include "lib/container/pickle/globals/dangerous/globals.inc"
};
constexpr Row harmless[] = {
#include "lib/container/pickle/globals/dangerous/harmless.inc"
};
constexpr std::string_view carried_modules[] = {
#include "lib/container/pickle/globals/dangerous/carried.inc"
};

template <typename Range>
bool holds(const Range& range, std::string_view value) {
  return std::binary_search(std::begin(range), std::end(range), value);
}
static_assert(std::is_sorted(std::begin(packages), std::end(packages)));
static_assert(std::is_sorted(std::begin(modules), std::end(modules)));
static_assert(std::is_sorted(std::begin(names), std::end(names)));
static_assert(std::is_sorted(std::begin(carried_modules), std::end(carried_modules)));

/// Takes the part in front of the next dot off `path`.
std::string_view next_part(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view part = path.substr(0, dot);
  path.remove_prefix(dot == path.npos ? path.size() : dot + 1);
  return part;
}

/// Whether `path` is in one of `modules`, or is one.
bool is_in_module(std::string_view path) {
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
    if (holds(modules, path.substr(0, dot))) return true;
  }
  return holds(modules, path);
}

bool is_dunder(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

/// Of the parts of a module's path behind its package.
bool carries_danger(std::string_view module) {
  next_part(module);
  while (!module.empty()) {
    const std::string_view part = next_part(module);
    if (holds(carried_modules, part) || part == "__main__") return true;
  }
  return false;
}

/// Of a name, whose dots lead from attribute to attribute: what is passed counts as what is taken.
bool leads_to_danger(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = next_part(name);
    const bool is_passed = !name.empty();
    if (holds(names, part) || holds(carried_modules, part) || is_dunder(part)) return true;
    if (is_passed && holds(packages, part)) return true;
  }
  return false;
}

/// Whether `path`, parted at one of its dots, is a module and a name of the rows, or what is reached through them.
bool is_in_rows(std::string_view path) {
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
    const std::string_view module = path.substr(0, dot);
    std::string_view rest = path.substr(dot + 1);
    const std::string_view name = next_part(rest);
    const auto names_it = [&](const Row& row) {
      return glob_matches(row.name, name) && glob_matches(row.module, module);
    };
    if (std::any_of(std::begin(globals), std::end(globals), names_it)) return true;
  }
  return false;
}

/// With the name that Python 3 has for a package of Python 2.
std::string path_today(std::string_view module, std::string_view name) {
  std::string_view rest = module;
  const std::string_view package = next_part(rest);
  const std::string_view today = package == "__builtin__" ? "builtins" : package == "copy_reg" ? "copyreg" : package;
  return std::string(today).append(module.substr(package.size())).append(".").append(name);
}

}  // namespace

bool is_dangerous_global(std::string_view module, std::string_view name) {
  const auto is_it = [&](const Row& row) { return row.module == module && row.name == name; };
  if (std::any_of(std::begin(harmless), std::end(harmless), is_it)) return false;
  if (holds(packages, module.substr(0, module.find('.')))) return true;
  if (carries_danger(module) || leads_to_danger(name)) return true;
  const std::string path = path_today(module, name);
  return is_in_module(path) || is_in_rows(path);
}

}  // namespace tare

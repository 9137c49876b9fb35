// The lists are the union of what picklescan, fickling and modelscan know and of what was found beside it in the
// sources of Python, NumPy, torch and what is built on them.
#include "lib/container/pickle/globals/dangerous_global.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "lib/base/glob.hpp"

namespace tare {
namespace {

struct GlobalPattern {
  std::string_view module, name;  ///< `*` stands for any characters
};

constexpr std::string_view dangerous_packages[] = {
#include "lib/container/pickle/globals/dangerous/packages.inc"
};
constexpr std::string_view dangerous_modules[] = {
#include "lib/container/pickle/globals/dangerous/modules.inc"
};
constexpr std::string_view dangerous_names[] = {
#include "lib/container/pickle/globals/dangerous/names.inc"
};
constexpr GlobalPattern dangerous_globals[] = {
#include "lib/container/pickle/globals/dangerous/globals.inc"
};
constexpr GlobalPattern harmless_globals[] = {
#include "lib/container/pickle/globals/dangerous/harmless.inc"
};
constexpr std::string_view carried_modules[] = {
#include "lib/container/pickle/globals/dangerous/carried.inc"
};

template <typename Range>
bool is_in_sorted(const Range& range, std::string_view value) {
  return std::binary_search(std::begin(range), std::end(range), value);
}
static_assert(std::is_sorted(std::begin(dangerous_packages), std::end(dangerous_packages)));
static_assert(std::is_sorted(std::begin(dangerous_modules), std::end(dangerous_modules)));
static_assert(std::is_sorted(std::begin(dangerous_names), std::end(dangerous_names)));
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
    if (is_in_sorted(dangerous_modules, path.substr(0, dot))) return true;
  }
  return is_in_sorted(dangerous_modules, path);
}

bool is_dunder(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

/// Of the parts of a module's path behind its package.
bool carries_danger(std::string_view module) {
  next_part(module);
  while (!module.empty()) {
    const std::string_view part = next_part(module);
    if (is_in_sorted(carried_modules, part) || part == "__main__") return true;
  }
  return false;
}

/// Of a name, whose dots lead from attribute to attribute: what is passed counts as what is taken.
bool leads_to_danger(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = next_part(name);
    const bool is_passed = !name.empty();
    if (is_in_sorted(dangerous_names, part) || is_in_sorted(carried_modules, part) || is_dunder(part)) return true;
    if (is_passed && is_in_sorted(dangerous_packages, part)) return true;
  }
  return false;
}

/// Whether `path`, parted at one of its dots, is a module and a name of the rows, or what is reached through them.
bool is_in_rows(std::string_view path) {
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
    const std::string_view module = path.substr(0, dot);
    std::string_view rest = path.substr(dot + 1);
    const std::string_view name = next_part(rest);
    const auto names_it = [&](const GlobalPattern& row) {
      return glob_matches(row.name, name) && glob_matches(row.module, module);
    };
    if (std::any_of(std::begin(dangerous_globals), std::end(dangerous_globals), names_it)) return true;
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
  const auto is_it = [&](const GlobalPattern& row) { return row.module == module && row.name == name; };
  if (std::any_of(std::begin(harmless_globals), std::end(harmless_globals), is_it)) return false;
  if (is_in_sorted(dangerous_packages, module.substr(0, module.find('.')))) return true;
  if (carries_danger(module) || leads_to_danger(name)) return true;
  const std::string path = path_today(module, name);
  return is_in_module(path) || is_in_rows(path);
}

}  // namespace tare

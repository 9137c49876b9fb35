#include "lib/attest/safe_globals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tare {
namespace {

/// A name that is found elsewhere today, or depending on the release.
struct Moved {
  std::string_view name, needs, expression;
};
constexpr Moved moved[] = {
    {"numpy._core.multiarray._reconstruct", "import numpy", "numpy.array(0).__reduce__()[0]"},
    {"numpy._core.multiarray.scalar", "import numpy", "numpy.float64(0).__reduce__()[0]"},
    {"numpy._core.numeric._frombuffer", "import numpy", "numpy.array(0).__reduce_ex__(5)[0]"},
    {"numpy.core.multiarray._reconstruct", "import numpy", "numpy.array(0).__reduce__()[0]"},
    {"numpy.core.multiarray.scalar", "import numpy", "numpy.float64(0).__reduce__()[0]"},
    {"numpy.core.numeric._frombuffer", "import numpy", "numpy.array(0).__reduce_ex__(5)[0]"},
    {"torch.cuda.amp.grad_scaler._refresh_per_optimizer_state", "import torch.amp.grad_scaler",
     "torch.amp.grad_scaler._refresh_per_optimizer_state"},
};

/// Loads any pickle in the bytes that it is given, whatever weights_only would say to that.
bool loads_what_it_is_given(const AttestedGlobal& global) {
  return global.module == "torch.storage" && global.name == "_load_from_bytes";
}

/// Python 3's name for a module of Python 2: weights_only goes by it.
std::string today(const std::string& module) {
  if (module == "__builtin__") return "builtins";
  return module == "copy_reg" ? "copyreg" : module;
}

/// By `from`, as a class may hide the module that it is in (deepspeed.utils.tensor_fragment). `again`: how many names
/// before it are spelled the same.
SafeGlobal told_as(const std::string& module, const std::string& name, std::size_t again) {
  const std::string full = today(module) + "." + name;
  const auto* place = std::ranges::find(moved, full, &Moved::name);
  if (place != std::end(moved)) {
    return {full, std::string(place->needs), fmt::format("({}, \"{}\")", place->expression, full)};
  }
  const std::size_t dot = std::min(name.find('.'), name.size());
  const std::string first = name.substr(0, dot);
  const std::string alias = again == 0 ? first : fmt::format("{}_{}", first, again + 1);
  const std::string as = again == 0 ? "" : " as " + alias;
  return {full, fmt::format("from {} import {}{}", today(module), first, as), alias + name.substr(dot)};
}

}  // namespace

std::vector<SafeGlobal> needed_safe_globals(const Attestation& attestation) {
  std::set<std::size_t> hopeless;
  for (const AttestedGlobal& global : attestation.globals) {
    const bool is_told = global.verdict == Verdict::framework && !loads_what_it_is_given(global);
    if (global.verdict == Verdict::allowed || is_told) continue;
    for (const AttestedPlace& place : global.places) {
      if (place.inside.empty()) hopeless.insert(place.file);
    }
  }
  const auto has_a_say = [&](const AttestedPlace& place) {
    const AttestedFile& file = attestation.files[place.file];
    return place.inside.empty() && file.is_torch && !file.is_beyond_weights_only && !hopeless.contains(place.file);
  };
  std::map<std::string, SafeGlobal> needed;
  std::map<std::string, std::size_t> spelled;
  for (const AttestedGlobal& global : attestation.globals) {
    if (global.verdict != Verdict::framework || !std::ranges::any_of(global.places, has_a_say)) continue;
    const std::string full = today(global.module) + "." + global.name;
    if (!needed.contains(full)) needed[full] = told_as(global.module, global.name, spelled[global.name]++);
  }
  std::vector<SafeGlobal> all;
  for (auto& [name, told] : needed) all.push_back(std::move(told));
  return all;
}

std::vector<std::string> never_weights_only(const Attestation& attestation) {
  std::vector<std::string> paths;
  for (const AttestedFile& file : attestation.files) {
    if (file.is_torch && file.is_beyond_weights_only) paths.push_back(file.path);
  }
  return paths;
}

}  // namespace tare

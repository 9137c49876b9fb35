#include "lib/attest/framework_class.hpp"

#include <algorithm>
#include <vector>

namespace tare {
namespace {

constexpr ClassName python[] = {
#include "lib/attest/frameworks/python.inc"
};
constexpr ClassName numpy[] = {
#include "lib/attest/frameworks/numpy.inc"
};
constexpr ClassName torch[] = {
#include "lib/attest/frameworks/torch.inc"
};
constexpr ClassName torch_nn[] = {
#include "lib/attest/frameworks/torch_nn.inc"
};
constexpr ClassName hugging_face[] = {
#include "lib/attest/frameworks/hugging_face.inc"
};
constexpr ClassName trainers[] = {
#include "lib/attest/frameworks/trainers.inc"
};
constexpr ClassName tare[] = {
#include "lib/attest/frameworks/tare.inc"
};

constexpr FrameworkTable listed_classes[] = {
    {"Python", python},     {"NumPy", numpy}, {"torch", torch}, {"torch.nn", torch_nn}, {"Hugging Face", hugging_face},
    {"trainers", trainers}, {"tare", tare},
};

constexpr bool all_sorted() {
  return std::ranges::all_of(listed_classes,
                             [](const FrameworkTable& table) { return std::ranges::is_sorted(table.classes); });
}
static_assert(all_sorted());

std::vector<FrameworkTable> all_tables() {
  std::vector<FrameworkTable> all(std::begin(listed_classes), std::end(listed_classes));
  for (const Dialect* dialect : dialects()) {
    if (!dialect->classes.empty()) all.push_back({dialect->name, dialect->classes});
  }
  return all;
}

}  // namespace

std::span<const FrameworkTable> framework_tables() {
  static const std::vector<FrameworkTable> all = all_tables();
  return all;
}

bool is_framework_class(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";
  if (module == "copy_reg") module = "copyreg";
  const ClassName wanted{module, name};
  return std::ranges::any_of(framework_tables(), [&](const FrameworkTable& table) {
    return std::ranges::binary_search(table.classes, wanted);
  });
}

}  // namespace tare

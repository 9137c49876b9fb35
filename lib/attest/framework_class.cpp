#include "lib/attest/framework_class.hpp"

#include <algorithm>

namespace tare {
namespace {

constexpr FrameworkClass python[] = {
#include "lib/attest/frameworks/python.inc"
};
constexpr FrameworkClass numpy[] = {
#include "lib/attest/frameworks/numpy.inc"
};
constexpr FrameworkClass torch[] = {
#include "lib/attest/frameworks/torch.inc"
};
constexpr FrameworkClass torch_nn[] = {
#include "lib/attest/frameworks/torch_nn.inc"
};
constexpr FrameworkClass fp8[] = {
#include "lib/attest/frameworks/fp8.inc"
};
constexpr FrameworkClass hugging_face[] = {
#include "lib/attest/frameworks/hugging_face.inc"
};
constexpr FrameworkClass trainers[] = {
#include "lib/attest/frameworks/trainers.inc"
};

constexpr FrameworkTable tables[] = {
    {"Python", python},     {"NumPy", numpy}, {"torch", torch},
    {"torch.nn", torch_nn}, {"FP8", fp8},     {"Hugging Face", hugging_face},
    {"trainers", trainers},
};

constexpr bool all_sorted() {
  return std::ranges::all_of(tables, [](const FrameworkTable& table) { return std::ranges::is_sorted(table.classes); });
}
static_assert(all_sorted());

}  // namespace

std::span<const FrameworkTable> framework_tables() {
  return tables;
}

bool is_framework_class(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";
  if (module == "copy_reg") module = "copyreg";
  const FrameworkClass wanted{module, name};
  return std::ranges::any_of(
      tables, [&](const FrameworkTable& table) { return std::ranges::binary_search(table.classes, wanted); });
}

}  // namespace tare

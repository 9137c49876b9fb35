// Orbax: a folder for each step, named by its number alone. Source: orbax/checkpoint/{path/step,checkpoint_manager}.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto orbax_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "#", {}, "_CHECKPOINT_METADATA", FileType::folder},
});

}  // namespace

constinit const Trainer orbax_trainer = {
    .name = "Orbax",
    .runs = orbax_runs,
};

}  // namespace tare

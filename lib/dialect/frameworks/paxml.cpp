// Paxml: no scaler; FP8 state of praxis' operations is as flax's, in Orbax's folders `checkpoint_00000003/state`, of
// which the highest is resumed from. Source: paxml/checkpoint_paths.py, checkpoint_managers.py (b397693).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto paxml_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "checkpoint_#", {}, "state"},
});

}  // namespace

constinit const Trainer paxml_trainer = {
    .name = "Paxml",
    .runs = paxml_runs,
};

}  // namespace tare

// PatrickStar keeps no scaler: its engine's and its optimizer's state dicts leave it out. Source:
// patrickstar/ops/fp16_cpu_adam.py, state_dict; patrickstar/runtime/engine.py (2384535).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

/// Its optimizer writes the group's values into each parameter's state, which torch's do not.
constexpr auto patrickstar_marks =
    std::to_array<std::string_view>({"param_groups", "state.0.betas", "state.0.weight_decay"});
constexpr auto patrickstar_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "keeps no scaler: a resumed fp16 run starts anew at its configuration's initial_scale_power",
     .source = "patrickstar/ops/fp16_cpu_adam.py, FP16Adam.state_dict",
     .why_read = "PyPI has no release of it"},
});

}  // namespace

constinit const Trainer patrickstar_trainer = {
    .name = "PatrickStar",
    .marks = patrickstar_marks,
    .resumes = patrickstar_resumes,
};

}  // namespace tare

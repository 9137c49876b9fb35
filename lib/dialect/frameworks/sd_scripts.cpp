// sd-scripts: accelerate's folders, named by what was trained and when; --resume names one. Source:
// library/train_util.py, EPOCH_STATE_NAME, STEP_STATE_NAME, LAST_STATE_NAME.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto sd_scripts_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::asked, "*-state", {}, "random_states_0.pkl"},
});

}  // namespace

constinit const Trainer sd_scripts_trainer = {
    .name = "sd-scripts",
    .runs = sd_scripts_runs,
};

}  // namespace tare

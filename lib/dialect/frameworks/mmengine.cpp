// mmengine: torch's scaler in files of one run, the newest of which `last_checkpoint` names. Source:
// mmengine/hooks/checkpoint_hook.py, mmengine/runner/checkpoint.py, find_latest_checkpoint.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/run_pointer.hpp"

namespace tare {
namespace {

// A GAN's wrappers, one a network, and apex's keep theirs below keys of their own.
constexpr auto mmengine_places = std::to_array<KeptAt>({
    {"optimizer.*", "", "message_hub", "mmengine (AmpOptimWrapper)"},
});
constexpr auto mmengine_pointers = std::to_array<RunPointer>({
    {.file = "last_checkpoint", .target = last_part_of_path, .elsewhere = absolute_path},
});

constexpr auto mmengine_untold = std::to_array<Condition>({
    {.keys = "optimizer.loss_scaler.growth_interval"},
    {.keys = "meta.cfg", .is = Condition::Is::unset},
});
constexpr auto mmengine_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .needs = mmengine_untold,
     .what = "may have a static scale (a loss_scale that is a float): AmpOptimWrapper sets that after each step, so "
             "that nothing grows and an edit lasts one step",
     .helps = "look at optim_wrapper = dict(loss_scale=...) in the run's configuration, which this file does not hold",
     .source = "mmengine/optim/optimizer/amp_optimizer_wrapper.py, AmpOptimWrapper",
     .why_read = "its scaler needs a GPU"},
});

}  // namespace

constinit const Trainer mmengine_trainer = {
    .name = "mmengine",
    .places = mmengine_places,
    .pointers = mmengine_pointers,
    .version_at = "meta.mmengine_version",
    .resumes = mmengine_resumes,
};

}  // namespace tare

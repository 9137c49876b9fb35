// BMTrain (and ModelCenter, which trains with it): the scale beside its optimizers' states. Its counter is not stored.
// Source: bmtrain/optim/optim_manager.py, OptimManager.state_dict (in releases after 0.2.3).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto bmtrain_fields = std::to_array<FieldRule>({
    {"loss_scale_enabled", {}, true},
    {"loss_scale", Role::scale, true},
});

constexpr auto bmtrain_settings = std::to_array<Setting>({
    {Role::growth_interval, "BMTrain takes its window from OptimManager(loss_scale_steps=...), 1024 if not given."},
    {Role::growth_tracker, "BMTrain saves no counter: a resumed run counts from 0."},
    {Role::growth_factor, "BMTrain takes it from OptimManager(loss_scale_factor=...), 2 if not given."},
    {Role::backoff_factor, "BMTrain divides by loss_scale_factor, which is growth_factor here."},
    {Role::min_scale, "BMTrain takes it from OptimManager(min_loss_scale=...), 1 if not given."},
    {Role::max_scale, "BMTrain takes it from OptimManager(max_loss_scale=...), none if not given."},
    {Role::initial_scale,
     "BMTrain takes it from OptimManager(loss_scale=...); a loaded checkpoint's scale replaces it."},
    {Role::dynamic, "BMTrain's scale is dynamic; OptimManager(loss_scale=None) turns it off."},
    {Role::hysteresis, "BMTrain has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "BMTrain has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "BMTrain counts no overflows: every one backs off."},
    {Role::step, "BMTrain counts no steps, only clean ones since the last change, and saves no counter."},
});

constexpr auto bmtrain_policies = std::to_array<PolicyUse>({
    {"", "bmtrain"},
});
constexpr auto bmtrain_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "loss_scale_steps="},
    {Role::growth_factor, "loss_scale_factor="},
    {Role::min_scale, "min_loss_scale="},
    {Role::max_scale, "max_loss_scale="},
});
constexpr Flags bmtrain_flags{"OptimManager(..., ", ", ", ")", bmtrain_each_flag};
constexpr auto bmtrain_places = std::to_array<KeptAt>({
    {"*", "", "", "BMTrain's OptimManager"},
});

constexpr auto bmtrain_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .what = "does not keep steps_since_last_scale: a resumed run counts its window from 0",
     .source = "bmtrain/optim/optim_manager.py, OptimManager.state_dict",
     .was_run = true},
});

}  // namespace

constinit const Dialect bmtrain_part = {
    .name = "bmtrain",
    .framework = "BMTrain's OptimManager",
    .form = Form::part,
    .fields = bmtrain_fields,
    .growth = Growth::not_stored,
    .settings = bmtrain_settings,
    .policies = bmtrain_policies,
    .flags = bmtrain_flags,
    .places = bmtrain_places,
    .never_alone = "BMTrain keeps its scale beside its optimizers' states, and loads no file without them",
};

constinit const Trainer bmtrain_trainer = {
    .name = "BMTrain",
    .dialect = "bmtrain",
    .resumes = bmtrain_resumes,
};

}  // namespace tare

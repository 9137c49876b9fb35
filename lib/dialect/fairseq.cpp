// fairseq: one number, `loss_scale`, beside the optimizer's state. Metrics of the same name elsewhere are no scaler's.
#include <array>

#include "lib/dialect/shapes.hpp"

namespace tare {
namespace {

constexpr auto fields = std::to_array<FieldRule>({{"loss_scale", Role::scale, true}});

constexpr auto settings = std::to_array<Setting>({
    {Role::growth_interval, "fairseq takes its window from --fp16-scale-window."},
    {Role::growth_tracker, "fairseq keeps no counter: a resumed run counts its window from the start."},
    {Role::hysteresis, "fairseq takes a percentage of overflows, --fp16-scale-tolerance."},
    {Role::min_scale, "fairseq takes it from --min-loss-scale."},
    {Role::initial_scale, "fairseq takes it from --fp16-init-scale; a loaded checkpoint's scale replaces it."},
    {Role::growth_factor, "fairseq always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "fairseq always halves: the factor is fixed in its code."},
    {Role::max_scale, "fairseq has no upper bound."},
    {Role::dynamic, "fairseq's scale is always dynamic."},
});

}  // namespace

constinit const Dialect fairseq_part = {
    .name = "fairseq",
    .framework = "fairseq",
    .form = Form::part,
    .fields = fields,
    .growth = Growth::not_stored,
    .settings = settings,
    .under = "last_optimizer_state",
};

}  // namespace tare

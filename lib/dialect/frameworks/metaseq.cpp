// metaseq (OPT): fairseq's one number beside the optimizer's state, which another rule goes on with since pull 115: the
// window is multiplied and divided along with the scale, and a scale at its minimum stays there. Its configuration has
// a group for resharding, and fairseq's has none. Sources: metaseq/optim/dynamic_loss_scaler.py,
// metaseq/dataclass/configs.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto metaseq_fields = std::to_array<FieldRule>({{"loss_scale", Role::scale, true}});
constexpr auto metaseq_root_keys = std::to_array<std::string_view>({"cfg.reshard"});

constexpr auto metaseq_settings = std::to_array<Setting>({
    {Role::growth_interval, "metaseq takes its first window from --fp16-scale-window, and keeps none."},
    {Role::growth_tracker, "metaseq keeps no counter: a resumed run counts its window from the start."},
    {Role::hysteresis, "metaseq takes a percentage of overflows, --fp16-scale-tolerance."},
    {Role::min_scale, "metaseq takes it from --min-loss-scale."},
    {Role::initial_scale, "metaseq takes it from --fp16-init-scale; a loaded checkpoint's scale replaces it."},
    {Role::growth_factor, "metaseq always grows by 2, and its window with it: the factor is fixed in its code."},
    {Role::backoff_factor, "metaseq always halves, and its window with it: the factor is fixed in its code."},
    {Role::max_scale, "metaseq has no upper bound."},
    {Role::dynamic, "metaseq's scale is always dynamic."},
});

constexpr NoPolicy metaseq_no_policy{
    "its rule is not fairseq's: the window grows and shrinks along with the scale, and is not stored",
    "carry the scale by hand: tare edit CHECKPOINT scale=...",
};
constexpr auto metaseq_around = std::to_array<std::string_view>({"cfg.common"});
constexpr auto metaseq_configuration_keys = std::to_array<ConfigurationKey>({
    {"fp16_init_scale", "initial_scale"},
    {"min_loss_scale", "min_scale"},
    {"fp16_scale_tolerance", "tolerance"},
    {"threshold_loss_scale", "threshold"},
});
constexpr ConfigurationPlaces metaseq_configuration{.around = metaseq_around, .keys = metaseq_configuration_keys};
constexpr auto metaseq_places = std::to_array<KeptAt>({
    {"*", "", "", "metaseq"},
});

constexpr auto metaseq_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .what = "keeps the scale alone: a resumed run begins with the window of its configuration, not with the one that "
             "went with the scale",
     .source = "facebookresearch/metaseq#115; metaseq/optim/fp16_optimizer.py, state_dict",
     .why_read = "PyPI has no release of it"},
});

}  // namespace

constinit const Dialect metaseq_part = {
    .name = "metaseq",
    .framework = "metaseq",
    .form = Form::part,
    .fields = metaseq_fields,
    .growth = Growth::not_stored,
    .settings = metaseq_settings,
    .under = "last_optimizer_state",
    .beside_root_keys = metaseq_root_keys,
    .no_policy = metaseq_no_policy,
    .configuration = &metaseq_configuration,
    .places = metaseq_places,
};

constinit const Trainer metaseq_trainer = {
    .name = "metaseq",
    .dialect = "metaseq",
    .resumes = metaseq_resumes,
};

}  // namespace tare

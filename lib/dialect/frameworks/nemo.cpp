// NeMo's GradScaler: PyTorch's state and a hysteresis tracker, which runs down with each overflow and can be negative.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto fields = std::to_array<FieldRule>({
    {"_hysteresis_tracker", Role::hysteresis_tracker, true},
    {"scale", Role::scale, true},
    {"growth_factor", Role::growth_factor, true},
    {"backoff_factor", Role::backoff_factor, true},
    {"growth_interval", Role::growth_interval, true},
    {"_growth_tracker", Role::growth_tracker, true},
});

constexpr auto settings = std::to_array<Setting>({
    {Role::hysteresis, "NeMo takes it from `hysteresis` in the model's configuration."},
    {Role::initial_scale, "NeMo takes it from `native_amp_init_scale` in the model's configuration."},
    {Role::min_scale, "NeMo's GradScaler has no lower bound."},
    {Role::max_scale, "NeMo's GradScaler has no upper bound."},
    {Role::dynamic, "NeMo's GradScaler is always dynamic; trainer.precision chooses whether there is one."},
    {Role::overflow_tracker, "NeMo counts down instead: edit hysteresis_tracker."},
});

// nemo/collections/nlp/parts/nlp_overrides.py: load_state_dict asks for "_hysterisis_tracker".
constexpr auto resets = std::to_array<Reset>({
    {"_hysteresis_tracker", 1, "NeMo loads it by a misspelt key: a resumed run backs off at the next overflow."},
});

constexpr auto policies = std::to_array<PolicyUse>({
    {"", "nemo"},
});

constexpr auto each_flag = std::to_array<Flag>({
    {Role::hysteresis, "model.hysteresis="},
});
constexpr Flags flags{"", " ", "", each_flag};
constexpr auto places = std::to_array<KeptAt>({
    {"MegatronHalfPrecisionPlugin", "", "", "NeMo (MegatronHalfPrecisionPlugin)"},
    {"MegatronMixedPrecisionPlugin", "", "", "NeMo (MegatronMixedPrecisionPlugin)"},
    {"native_amp_scaling_state", "", "", "NeMo"},
    {"*", ".metadata", "", "NeMo"},
});
constexpr auto template_fields = std::to_array<TemplateField>({
    {"scale", "float"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"growth_interval", "int"},
    {"_growth_tracker", "int", "growth_tracker"},
    {"_hysteresis_tracker", "int", "hysteresis_tracker"},
});
constexpr auto templates = std::to_array<StateTemplate>({
    {.name = "nemo",
     .dialect = &nemo_state,
     .policy = "nemo",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = template_fields},
});

}  // namespace

constinit const Dialect nemo_state = {
    .name = "nemo",
    .framework = "NeMo's GradScaler",
    .form = Form::map,
    .fields = fields,
    .growth = Growth::when_equal,
    .settings = settings,
    .resets = resets,
    .policies = policies,
    .flags = flags,
    .places = places,
    .templates = templates,
};

}  // namespace tare

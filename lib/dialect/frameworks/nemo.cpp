// NeMo's GradScaler: PyTorch's state and a hysteresis tracker, which runs down with each overflow and can be negative.
// Of a run it resumes from the one save that is called "-last", and passes over those that were never finished: source
// nemo/utils/exp_manager.py, check_resume and _filter_out_unfinished_checkpoints (2.0).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto nemo_fields = std::to_array<FieldRule>({
    {"_hysteresis_tracker", Role::hysteresis_tracker, true},
    {"scale", Role::scale, true},
    {"growth_factor", Role::growth_factor, true},
    {"backoff_factor", Role::backoff_factor, true},
    {"growth_interval", Role::growth_interval, true},
    {"_growth_tracker", Role::growth_tracker, true},
});

constexpr auto nemo_settings = std::to_array<Setting>({
    {Role::hysteresis, "NeMo takes it from `hysteresis` in the model's configuration."},
    {Role::initial_scale, "NeMo takes it from `native_amp_init_scale` in the model's configuration."},
    {Role::min_scale, "NeMo's GradScaler has no lower bound."},
    {Role::max_scale, "NeMo's GradScaler has no upper bound."},
    {Role::dynamic, "NeMo's GradScaler is always dynamic; trainer.precision chooses whether there is one."},
    {Role::overflow_tracker, "NeMo counts down instead: edit hysteresis_tracker."},
});

// nemo/collections/nlp/parts/nlp_overrides.py: load_state_dict asks for "_hysterisis_tracker".
constexpr auto nemo_resets = std::to_array<Reset>({
    {"_hysteresis_tracker", 1, "NeMo loads it by a misspelt key: a resumed run backs off at the next overflow."},
});

constexpr auto nemo_policies = std::to_array<PolicyUse>({
    {"", "nemo"},
});

constexpr auto nemo_each_flag = std::to_array<Flag>({
    {Role::hysteresis, "model.hysteresis="},
});
constexpr Flags nemo_flags{"", " ", "", nemo_each_flag};
constexpr auto nemo_places = std::to_array<KeptAt>({
    {"MegatronHalfPrecisionPlugin", "", "", "NeMo (MegatronHalfPrecisionPlugin)"},
    {"MegatronMixedPrecisionPlugin", "", "", "NeMo (MegatronMixedPrecisionPlugin)"},
    {"PipelineMixedPrecisionPlugin", "", "", "NeMo (PipelineMixedPrecisionPlugin)"},
    {"native_amp_scaling_state", "", "", "NeMo"},
    {"*", ".metadata", "", "NeMo"},
});
constexpr auto nemo_template_fields = std::to_array<TemplateField>({
    {"scale", "float"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"growth_interval", "int"},
    {"_growth_tracker", "int", "growth_tracker"},
    {"_hysteresis_tracker", "int", "hysteresis_tracker"},
});
constexpr auto nemo_templates = std::to_array<StateTemplate>({
    {.name = "nemo",
     .dialect = &nemo_state,
     .policy = "nemo",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = nemo_template_fields},
});

constexpr auto nemo_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::asked, "*--*-last.ckpt", "*--*-unfinished"},
    {RunFolder::Takes::asked, "*--*-last", {}, "metadata.json", FileType::folder},
});

}  // namespace

constinit const Dialect nemo_state = {
    .name = "nemo",
    .framework = "NeMo's GradScaler",
    .form = Form::map,
    .fields = nemo_fields,
    .growth = Growth::when_equal,
    .settings = nemo_settings,
    .resets = nemo_resets,
    .policies = nemo_policies,
    .flags = nemo_flags,
    .places = nemo_places,
    .templates = nemo_templates,
};

constinit const Trainer nemo_trainer = {
    .name = "NeMo",
    .runs = nemo_runs,
    .unfinished = "-unfinished",
};

}  // namespace tare

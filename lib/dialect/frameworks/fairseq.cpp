// fairseq: one number, `loss_scale`, beside the optimizer's state; of its first releases, in the extra state. Metrics
// of the same name elsewhere are no scaler's.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto fairseq_fields = std::to_array<FieldRule>({{"loss_scale", Role::scale, true}});

constexpr auto fairseq_settings = std::to_array<Setting>({
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

constexpr auto fairseq_policies = std::to_array<PolicyUse>({
    {"", "fairseq"},
});
constexpr auto fairseq_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "--fp16-scale-window "},
    {Role::min_scale, "--min-loss-scale "},
    {{}, "--fp16-scale-tolerance ", "tolerance"},
    {{}, "--threshold-loss-scale ", "threshold"},
});
constexpr Flags fairseq_flags{"", " ", "", fairseq_each_flag};
// Source: fairseq/trainer.py.
constexpr auto fairseq_around = std::to_array<std::string_view>({"cfg.common", "args"});
constexpr auto fairseq_configuration_keys = std::to_array<ConfigurationKey>({
    {"fp16_init_scale", "initial_scale"},
    {"min_loss_scale", "min_scale"},
    {"fp16_scale_window", "growth_interval"},
    {"fp16_scale_tolerance", "tolerance"},
    {"threshold_loss_scale", "threshold"},
});
constexpr ConfigurationPlaces fairseq_configuration{.around = fairseq_around, .keys = fairseq_configuration_keys};
constexpr auto fairseq_places = std::to_array<KeptAt>({
    {"*", "", "", "fairseq"},
});
// Up to 0.5: fairseq/fp16_trainer.py.
constexpr auto fairseq_extra_settings = std::to_array<Setting>({
    {Role::growth_interval, "fairseq up to 0.5 grows after 2000 steps: the window is fixed in its code."},
    {Role::growth_tracker, "fairseq keeps no counter: a resumed run counts its window from the start."},
    {Role::hysteresis, "fairseq up to 0.5 has no hysteresis: every overflow backs off."},
    {Role::min_scale, "fairseq takes it from --min-loss-scale."},
    {Role::initial_scale, "fairseq up to 0.5 starts at 2^7; a loaded checkpoint's scale replaces it."},
    {Role::growth_factor, "fairseq always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "fairseq always halves: the factor is fixed in its code."},
    {Role::max_scale, "fairseq has no upper bound."},
    {Role::dynamic, "fairseq's scale is always dynamic."},
});
constexpr auto fairseq_extra_each_flag = std::to_array<Flag>({{Role::min_scale, "--min-loss-scale "}});
constexpr Flags fairseq_extra_flags{"", " ", "", fairseq_extra_each_flag};
constexpr auto fairseq_extra_root_keys = std::to_array<std::string_view>({"optimizer_history"});
constexpr auto fairseq_extra_around = std::to_array<std::string_view>({"args"});
constexpr ConfigurationPlaces fairseq_extra_configuration{.around = fairseq_extra_around,
                                                          .keys = fairseq_configuration_keys};
constexpr auto fairseq_extra_places = std::to_array<KeptAt>({
    {"*", "", "", "fairseq up to 0.5 (FP16Trainer)"},
});
constexpr auto fairseq_template_fields = std::to_array<TemplateField>({{"loss_scale", "float"}});
constexpr auto fairseq_templates = std::to_array<StateTemplate>({
    {.name = "fairseq",
     .dialect = &fairseq_part,
     .policy = "fairseq",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = fairseq_template_fields,
     .path = "last_optimizer_state"},
});
constexpr auto fairseq_classes = std::to_array<ClassName>({
    {"fairseq.dataclass.configs", "CheckpointConfig"},
    {"fairseq.dataclass.configs", "CommonConfig"},
    {"fairseq.dataclass.configs", "FairseqConfig"},
});

constexpr auto fairseq_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .what =
         "keeps the scale alone: a resumed run counts its window and its overflows from 0, so where it grows depends "
         "on when it was restarted",
     .source = "facebookresearch/metaseq#3; fairseq/optim/fp16_optimizer.py, state_dict",
     .was_run = true},
});

// fairseq/checkpoint_utils.py, load_checkpoint: what --restore-file is if it is not given.
constexpr auto fairseq_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::file, "checkpoint_last.pt", "checkpoint*.pt"},
});

constexpr auto fairseq_rank_words = std::to_array<RankWord>({
    {"shard", false, 1},      // with FSDP
    {"model_part", true, 1},  // with model parallelism
});

}  // namespace

constinit const Dialect fairseq_part = {
    .name = "fairseq",
    .framework = "fairseq",
    .form = Form::part,
    .fields = fairseq_fields,
    .growth = Growth::not_stored,
    .settings = fairseq_settings,
    .under = "last_optimizer_state",
    .policies = fairseq_policies,
    .flags = fairseq_flags,
    .configuration = &fairseq_configuration,
    .places = fairseq_places,
    .templates = fairseq_templates,
    .classes = fairseq_classes,
};

constinit const Dialect fairseq_extra = {
    .name = "fairseq",
    .framework = "fairseq's FP16Trainer",
    .form = Form::part,
    .fields = fairseq_fields,
    .growth = Growth::not_stored,
    .settings = fairseq_extra_settings,
    .under = "extra_state",
    .beside_root_keys = fairseq_extra_root_keys,
    .policies = fairseq_policies,
    .flags = fairseq_extra_flags,
    .configuration = &fairseq_extra_configuration,
    .places = fairseq_extra_places,
};

constinit const Trainer fairseq_trainer = {
    .name = "fairseq",
    .rank_words = fairseq_rank_words,
    .runs = fairseq_runs,
    .dialect = "fairseq",
    .resumes = fairseq_resumes,
};

}  // namespace tare

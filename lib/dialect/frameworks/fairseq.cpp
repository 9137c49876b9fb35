// fairseq: one number, `loss_scale`, beside the optimizer's state. Metrics of the same name elsewhere are no scaler's.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

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

constexpr auto policies = std::to_array<PolicyUse>({
    {"", "fairseq"},
});
constexpr auto each_flag = std::to_array<Flag>({
    {Role::growth_interval, "--fp16-scale-window "},
    {Role::min_scale, "--min-loss-scale "},
    {{}, "--fp16-scale-tolerance ", "tolerance"},
    {{}, "--threshold-loss-scale ", "threshold"},
});
constexpr Flags flags{"", " ", "", each_flag};
// Source: fairseq/trainer.py.
constexpr auto around = std::to_array<std::string_view>({"cfg.common", "args"});
constexpr auto configuration_keys = std::to_array<ConfigurationKey>({
    {"fp16_init_scale", "initial_scale"},
    {"min_loss_scale", "min_scale"},
    {"fp16_scale_window", "growth_interval"},
    {"fp16_scale_tolerance", "tolerance"},
    {"threshold_loss_scale", "threshold"},
});
constexpr ConfigurationPlaces configuration{.around = around, .keys = configuration_keys};
constexpr auto places = std::to_array<KeptAt>({
    {"*", "", "", "fairseq"},
});
constexpr auto template_fields = std::to_array<TemplateField>({{"loss_scale", "float"}});
constexpr auto templates = std::to_array<StateTemplate>({
    {.name = "fairseq",
     .dialect = &fairseq_part,
     .policy = "fairseq",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = template_fields,
     .path = "last_optimizer_state"},
});
constexpr auto classes = std::to_array<ClassName>({
    {"fairseq.dataclass.configs", "CheckpointConfig"},
    {"fairseq.dataclass.configs", "CommonConfig"},
    {"fairseq.dataclass.configs", "FairseqConfig"},
});

constexpr auto resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .what =
         "keeps the scale alone: a resumed run counts its window and its overflows from 0, so where it grows depends "
         "on when it was restarted",
     .source = "facebookresearch/metaseq#3; fairseq/optim/fp16_optimizer.py, state_dict",
     .was_run = true},
});

constexpr auto rank_words = std::to_array<RankWord>({
    {"shard", false, 1},      // with FSDP
    {"model_part", true, 1},  // with model parallelism
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
    .policies = policies,
    .flags = flags,
    .configuration = &configuration,
    .places = places,
    .templates = templates,
    .classes = classes,
};

constinit const Trainer fairseq_trainer = {
    .name = "fairseq",
    .rank_words = rank_words,
    .dialect = "fairseq",
    .resumes = resumes,
};

}  // namespace tare

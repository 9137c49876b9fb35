// PyTorch's GradScaler and ShardedGradScaler: the dict of state_dict(), and the pickled object. Five keys, all of which
// load_state_dict() needs. Source: torch/amp/grad_scaler.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto torch_state_fields = std::to_array<FieldRule>({
    {"_growth_tracker", Role::growth_tracker, true},
    {"scale", Role::scale, true},
    {"growth_factor", Role::growth_factor, true},
    {"backoff_factor", Role::backoff_factor, true},
    {"growth_interval", Role::growth_interval, true},
});

// __getstate__ leaves `_scale` and `_growth_tracker` None; the values are in what the next start begins with.
constexpr auto torch_object_fields = std::to_array<FieldRule>({
    {"_init_growth_tracker", Role::growth_tracker, true},
    {"_init_scale", Role::scale, true},
    {"_growth_factor", Role::growth_factor, true},
    {"_backoff_factor", Role::backoff_factor, true},
    {"_growth_interval", Role::growth_interval, true},
});

constexpr auto torch_left_out = std::to_array<std::string_view>({"_per_optimizer_states"});

constexpr auto torch_settings = std::to_array<Setting>({
    {Role::hysteresis, "PyTorch's GradScaler has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "PyTorch's GradScaler has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "PyTorch's GradScaler counts no overflows: every one backs off."},
    {Role::min_scale, "PyTorch's GradScaler has no lower bound: the scale can fall to 0."},
    {Role::max_scale, "PyTorch's GradScaler has no upper bound."},
    {Role::initial_scale, "PyTorch takes it from GradScaler(init_scale=...); a loaded checkpoint's scale replaces it."},
    {Role::dynamic, "PyTorch's GradScaler is always dynamic; GradScaler(enabled=False) turns it off."},
    {Role::step, "PyTorch's GradScaler counts no steps, only clean ones since the last change (growth_tracker)."},
    {Role::last_overflow_step, "PyTorch's GradScaler keeps no steps; an overflow sets growth_tracker to 0."},
});

constexpr auto torch_policies = std::to_array<PolicyUse>({
    {"", "torch"},
});

// Trainers keep this state under a key, or in a file, of their own. Those of which more is known have a file of theirs.
constexpr auto torch_places = std::to_array<KeptAt>({
    {"", "scaler.pt", "", "accelerate, or the Hugging Face Trainer"},
    {"", "scaler.ckpt", "", "SpeechBrain"},
    {"optimizer.loss_scaler", "", "", "mmengine (AmpOptimWrapper)"},
    {"meta.fp16.loss_scaler", "", "", "mmcv (Fp16OptimizerHook)"},
    {"scaler", "", "reporter", "espnet"},
    {"*", ".metadata", "", "a run that saves with torch.distributed.checkpoint"},
    {"*", "__*", "", "a run that saves with torch.distributed.checkpoint", Authority::own_rank},
});

// OpenMMLab's trainers keep this state of a static scale, too, which they set anew after each step. Sources:
// mmcv/runner/hooks/optimizer.py, Fp16OptimizerHook (1.7.2); mmengine/optim/optimizer/amp_optimizer_wrapper.py,
// AmpOptimWrapper (0.10.7).
constexpr auto mmcv_statements = std::to_array<std::string_view>({"fp16", "optimizer_config"});
constexpr auto mmengine_statements = std::to_array<std::string_view>({"optim_wrapper"});
constexpr auto torch_texts = std::to_array<ConfigurationText>({
    {"meta.fp16.loss_scaler", "meta.config", mmcv_statements, "loss_scale", static_scale_key},
    {"optimizer*loss_scaler", "meta.cfg", mmengine_statements, "loss_scale", static_scale_key},
});
constexpr ConfigurationPlaces torch_configuration{.texts = torch_texts};

// Source: state_dict() of a scaler that is off, torch/amp/grad_scaler.py.
constexpr auto torch_empty_at = std::to_array<EmptyAt>({
    {"", "scaler.pt"},
    {"", "scaler.ckpt"},
    {"scaler"},
    {"amp_scaler"},
    {"grad_scaler"},
    {"loss_scaler"},
    {"scaler_state_dict"},
    {"grad_scaler_state"},
    {"state.scaler.GradScaler"},
    {"optimizer.loss_scaler"},
    {"trainer._trainer.grad_scaler"},
    {"trainer.grad_scaler"},
});

constexpr auto torch_template_fields = std::to_array<TemplateField>({
    {"scale", "float"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"growth_interval", "int"},
    {"_growth_tracker", "int"},
});
constexpr auto torch_templates = std::to_array<StateTemplate>({
    {.name = "torch",
     .dialect = &torch_state,
     .policy = "torch",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = torch_template_fields,
     .is_usual = true},
});

}  // namespace

constinit const Dialect torch_state = {
    .name = "torch",
    .framework = "PyTorch's GradScaler",
    .form = Form::map,
    .fields = torch_state_fields,
    .growth = Growth::when_equal,
    .settings = torch_settings,
    .policies = torch_policies,
    .configuration = &torch_configuration,
    .places = torch_places,
    .empty_at = torch_empty_at,
    .templates = torch_templates,
};

constinit const Dialect torch_object = {
    .name = "torch",
    .framework = "PyTorch's GradScaler",
    .form = Form::object,
    .fields = torch_object_fields,
    .growth = Growth::when_equal,
    .settings = torch_settings,
    .left_out = torch_left_out,
    .policies = torch_policies,
};

}  // namespace tare

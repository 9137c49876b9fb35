// mmcv 1.x's own LossScaler, of its Fp16OptimizerHook where torch is older than 1.6 (with newer ones the hook keeps
// torch's state there). Its rule is that of apex.fp16_utils. Source:
// mmcv/runner/{fp16_utils,hooks/optimizer}.py, 1.7.2.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto mmcv_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"cur_iter", Role::step, true},
    {"mode", Role::dynamic},
    {"last_overflow_iter", Role::last_overflow_step, true},
    {"scale_factor", Role::growth_factor, true},
    {"scale_window", Role::growth_interval, true},
});

constexpr auto mmcv_settings = std::to_array<Setting>({
    {Role::growth_tracker, "mmcv counts from last_overflow_step: edit that, or step."},
    {Role::backoff_factor, "mmcv divides by scale_factor, which is growth_factor here."},
    {Role::min_scale, "mmcv never goes below 1: the bound is fixed in its code."},
    {Role::max_scale, "mmcv has no upper bound."},
    {Role::initial_scale, "mmcv takes it from fp16 = dict(loss_scale=dict(init_scale=...)); a loaded one replaces it."},
    {Role::dynamic, "mmcv keeps a word: mode is 'dynamic' or 'static', by fp16 = dict(loss_scale=...)."},
    {Role::hysteresis, "mmcv has no hysteresis: every overflow backs off."},
    {Role::hysteresis_tracker, "mmcv has no hysteresis: every overflow backs off."},
    {Role::overflow_tracker, "mmcv counts no overflows: every one backs off."},
});

constexpr auto mmcv_policies = std::to_array<PolicyUse>({
    {"mode", "constant", {}, "static"},
    {"", "apex_fp16_utils"},
});
constexpr auto mmcv_places = std::to_array<KeptAt>({
    {"meta.fp16.loss_scaler", "", "", "mmcv (Fp16OptimizerHook)"},
});
constexpr auto mmcv_template_fields = std::to_array<TemplateField>({
    {"cur_scale", "number"},
    {"cur_iter", "int"},
    {"mode", "text:dynamic"},
    {"last_overflow_iter", "int"},
    {"scale_factor", "number"},
    {"scale_window", "int"},
});
constexpr auto mmcv_templates = std::to_array<StateTemplate>({
    {.name = "mmcv",
     .dialect = &mmcv_state,
     .policy = "apex_fp16_utils",
     .endings = ".pth .pt",
     .format = "torch_zip",
     .fields = mmcv_template_fields,
     .path = "meta.fp16.loss_scaler"},
});

constexpr auto mmcv_untold = std::to_array<Condition>({
    {.keys = "meta.fp16.loss_scaler.growth_interval"},
    {.keys = "meta.config", .is = Condition::Is::unset},
});
// Of mmcv 1.x: runner/epoch_based_runner.py, iter_based_runner.py, save_checkpoint, which copies where it cannot link.
constexpr auto mmcv_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::link, "latest.pth", "epoch_#.pth"},
    {RunFolder::Takes::link, "latest.pth", "iter_#.pth"},
    {RunFolder::Takes::file, "latest.pth", "epoch_#.pth"},
    {RunFolder::Takes::file, "latest.pth", "iter_#.pth"},
});
constexpr auto mmcv_marks = std::to_array<std::string_view>({"meta.mmcv_version", "state_dict", "optimizer"});
constexpr auto mmcv_resumes = std::to_array<Resume>({
    {.until = "1.3.5",
     .stored = Resume::Stored::no,
     .what = "keeps no scaler of its Fp16OptimizerHook: a resumed fp16 run starts anew",
     .helps = "1.3.6 and later keep it under meta.fp16.loss_scaler",
     .source = "open-mmlab/mmcv#1013",
     .was_run = true},
    {.since = "1.3.6",
     .stored = Resume::Stored::yes,
     .needs = mmcv_untold,
     .what = "may have a static scale, which is its hook's default (loss_scale=512.): the hook sets that after each "
             "step, so that nothing grows and an edit lasts one step",
     .helps = "look at fp16 = dict(loss_scale=...) in the run's configuration, which this file does not hold",
     .source = "mmcv/runner/hooks/optimizer.py, Fp16OptimizerHook",
     .why_read = "its scaler needs a GPU"},
});

}  // namespace

constinit const Dialect mmcv_state = {
    .name = "mmcv",
    .framework = "mmcv's LossScaler",
    .form = Form::map,
    .fields = mmcv_fields,
    .growth = Growth::modulo,
    .settings = mmcv_settings,
    .under = "loss_scaler",
    .policies = mmcv_policies,
    .places = mmcv_places,
    .templates = mmcv_templates,
};

constinit const Trainer mmcv_trainer = {
    .name = "mmcv",
    .runs = mmcv_runs,
    .marks = mmcv_marks,
    .version_at = "meta.mmcv_version",
    .resumes = mmcv_resumes,
};

}  // namespace tare

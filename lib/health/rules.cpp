#include "lib/health/rules.hpp"

#include <algorithm>
#include <array>

#include "lib/health/look.hpp"

namespace tare {
namespace {

constexpr auto collapses = std::to_array<std::string_view>(
    {"collapse", "collapse-to-floor", "collapse-to-zero", "stuck-at-floor", "mixed-scalers"});
constexpr auto mixed = std::to_array<std::string_view>({"mixed-scalers"});
constexpr auto lost_losses = std::to_array<std::string_view>({"diverged", "nan-loss"});
constexpr std::string_view go_back =
    "Stop the run. Resume from {healthy}; look at data and learning rate at the step named. `tare edit CHECKPOINT "
    "scale=2^15` sets the scale that it goes on with";
constexpr std::string_view log_it =
    "Log the scale: `print(f\"step {step} loss_scale {scaler.get_scale()}\")` once a step is enough for `tare trace`";
constexpr std::string_view mend_scale =
    "`tare edit CHECKPOINT scale=65536` gives it one that works; `tare timeline RUN` shows when it went wrong";
constexpr std::string_view mend_fp8 =
    "`tare fp8 recompute CHECKPOINT` makes scales of the histories, `tare fp8 reset CHECKPOINT` starts afresh";
constexpr std::string_view complete =
    "Copy the missing files beside the others, or resume from another checkpoint: `tare timeline RUN` lists them";

constexpr auto table = std::to_array<Rule>({
    // ---- traces; the order is that of the answers
    {"broken-scale", Severity::error, LooksAt::trace, "the scale became inf or nan: no step is made with it", go_back,
     look_for_broken_scale},
    {"collapse-to-zero", Severity::error, LooksAt::trace,
     "the scale went down to 0, or below float32's smallest normal number", go_back, look_for_collapse},
    {"collapse-to-floor", Severity::error, LooksAt::trace,
     "overflow upon overflow took the scale to where it goes no further", go_back, nullptr, mixed},
    {"collapse", Severity::error, LooksAt::trace, "many overflows in a row, though the run was past its start", go_back,
     nullptr, mixed},
    {"stuck-at-floor", Severity::error, LooksAt::trace,
     "overflows in a row at one scale that does not move: no step is made", go_back, look_for_stuck, mixed},
    {"nan-loss", Severity::error, LooksAt::trace,
     "the loss is NaN in steps that were not skipped: weights are NaN, or data are",
     "No scale mends NaN. Resume from {healthy} and look at the data of that step", look_for_lost_loss},
    {"nan-gradients", Severity::error, LooksAt::trace, "the gradient norm is no number in steps that were not skipped",
     "No scale mends NaN. Resume from {healthy} and look at the data of that step", look_for_lost_gradients},
    {"zero-loss", Severity::warning, LooksAt::trace, "the loss fell to exactly 0 at once: it may stand for NaN",
     "`logging_nan_inf_filter=False` prints NaN as such; a loss that truly is below 0.00005 looks the same. If it is "
     "NaN, resume from {healthy} and look at the data of that step",
     look_for_zero_loss},
    {"diverged", Severity::error, LooksAt::trace, "the loss rose and stayed up",
     "Resume from {healthy} with a lower learning rate, or leave the data of that stretch out", look_for_loss_rise},
    {"ranks-disagree", Severity::error, LooksAt::trace, "ranks print different scales for one step",
     "`tare inspect CHECKPOINT` compares the ranks' copies; `tare edit CHECKPOINT --align` makes them one",
     look_for_disagreeing_ranks},
    {"sources-disagree", Severity::warning, LooksAt::trace, "two sources of one run tell different scales of one step",
     "Look whether they are of one run, and of one start of it: `tare trace` each by itself"},
    {"mixed-scalers", Severity::warning, LooksAt::trace,
     "two loss scalers write into one log, and no line tells whose it is",
     "Let each engine log to a file of its own, and ask of each: rules about overflows are not asked of both together",
     look_for_other_scalers},
    {"several-scalers", Severity::warning, LooksAt::trace,
     "several loss scalers write into one log, and one of them was looked at",
     "Ask of each by itself: `grep 'loss scaler 1' LOG >one.log; tare doctor one.log`"},
    {"overflow-applied", Severity::warning, LooksAt::trace, "weights are updated by steps that overflowed, too",
     "mindyolo: `overflow_still_update: False` skips them; where the loss is NaN or has jumped, resume from {healthy}",
     look_for_applied_overflows},
    {"static-scale", Severity::warning, LooksAt::trace, "overflows do not move the scale, as far as is told",
     "mindyolo: `--ms_loss_scaler dynamic` lets the scale follow the gradients, `--ms_loss_scaler_value` sets a static "
     "one",
     look_for_static_scale, mixed},
    {"loss-spike", Severity::warning, LooksAt::trace, "the loss rose and has not come down yet",
     "Watch it; {healthy} is where to go back to", nullptr, lost_losses},
    {"norm-spike", Severity::warning, LooksAt::trace, "the gradient norm jumped, and the loss or the scale with it",
     "Watch it; {healthy} is where to go back to", look_for_norm_spike},
    {"falling", Severity::warning, LooksAt::trace, "the scale fell a lot in few steps and has not come back",
     "Watch it: in GLM-130B the loss followed 30 steps later; {healthy} is where to go back to", look_for_falling,
     collapses},
    {"low-scale", Severity::warning, LooksAt::trace, "the scale is so low that small gradients vanish",
     "Divide the loss if it is a sum; `tare simulate TRACE --window 500,1000,2000` shows what a shorter window would "
     "do",
     look_for_low_scale, collapses},
    {"too-many-overflows", Severity::warning, LooksAt::trace,
     "more steps are skipped than a growth now and then explains",
     "`tare simulate TRACE --window 500,1000,2000` shows what other settings would skip", look_for_many_overflows,
     collapses},
    {"frozen", Severity::warning, LooksAt::trace, "the scale neither grew nor fell for many windows",
     "`tare inspect CHECKPOINT` says when it grows next; `tare edit CHECKPOINT growth_tracker=0` sets its counter back",
     look_for_frozen, mixed},
    {"exploding", Severity::warning, LooksAt::trace, "the scale grows and grows: gradients vanish, or are zero",
     "Look for parameters without gradients; `tare edit CHECKPOINT scale=65536` brings the scale back",
     look_for_explosion},
    {"restart-loop", Severity::warning, LooksAt::trace, "several starts of the run end near one step",
     "Resume from before {healthy}, or leave that step's data out", look_for_restart_loop},
    {"reset-on-resume", Severity::warning, LooksAt::trace, "a start of the run began with another scale than was left",
     "`tare inspect CHECKPOINT` shows whether the scaler was saved; `tare migrate SOURCE --into CHECKPOINT` puts one "
     "in",
     look_for_reset, mixed},
    {"backoffs-at-once", Severity::warning, LooksAt::trace, "the scale fell further than its steps can take it",
     "Call the scaler's update() once a step, behind all optimizers and not for each micro-batch; or a script sets the "
     "scale, or the run was resumed here without its own",
     look_for_backoffs_at_once, mixed},
    {"save-not-read", Severity::warning, LooksAt::trace, "a save of the run is damaged, or was never finished",
     "No resume can use it, unless it is still being written: take another copy", look_for_unread_saves},
    {"link-not-read", Severity::warning, LooksAt::trace, "the run is resumed from a link out of it",
     "Nothing of that save was looked at: give it by its own name, too", nullptr},
    {"folder-not-read", Severity::warning, LooksAt::trace, "folders lie deeper than tare looks",
     "Give such a folder itself: nothing below it was looked at", nullptr},
    {"count-contradiction", Severity::warning, LooksAt::trace, "the scale fell where the log counts no skipped step",
     "Judge by the scale: Megatron-DeepSpeed's count stays 0. `tare trace LOG` shows every step",
     look_for_contradiction, mixed},
    {"initial-search", Severity::note, LooksAt::trace, "a run that begins with a great scale overflows until it fits",
     "Normal. A start four times above where it ended saves these steps: `tare edit` a checkpoint, or the "
     "framework's initial scale",
     look_for_search, mixed},
    {"oscillating", Severity::note, LooksAt::trace, "each growth to one scale overflows at once",
     "Normal. A longer window or a ceiling saves the skipped steps: `tare simulate TRACE --window 2000,4000`",
     look_for_oscillation, mixed},
    {"manual-growth", Severity::note, LooksAt::trace,
     "a growth that came long before its window was full: by hand, or a script's",
     "Normal if you set the scale. `tare simulate TRACE --explain` names the step up to which a rule explains the run",
     look_for_manual_growth, mixed},
    {"averages-alone", Severity::note, LooksAt::trace,
     "the log tells averages of the scale, or rounds it, and no step's own", log_it, look_for_averages},
    {"spike-recovered", Severity::note, LooksAt::trace, "the loss rose and came down again", ""},
    {"not-scaled", Severity::note, LooksAt::trace, "the scale is 1 throughout: bfloat16 or float32", "",
     look_for_unscaled},
    {"no-scale-trace", Severity::note, LooksAt::trace, "nothing of what was read tells a scale", log_it},
    {"healthy", Severity::note, LooksAt::trace, "nothing is wrong with the course of the scale", ""},

    // ---- states; lib/dialect judges them
    {"scale-zero",
     Severity::warning,
     LooksAt::state,
     "the scale is 0: no gradient survives it",
     mend_scale,
     nullptr,
     {},
     mend_fp8},
    {"scale-not-finite",
     Severity::warning,
     LooksAt::state,
     "the scale is inf or nan",
     mend_scale,
     nullptr,
     {},
     mend_fp8},
    {"scale-negative", Severity::warning, LooksAt::state, "the scale is negative", mend_scale, nullptr, {}, mend_fp8},
    {"scale-beyond-float32", Severity::warning, LooksAt::state, "the scale is infinite as a float32", mend_scale},
    {"scale-below-one", Severity::warning, LooksAt::state, "the scale is below 1: gradients are made smaller",
     mend_scale},
    {"scale-below-minimum", Severity::warning, LooksAt::state,
     "the scale is below the minimum that is stored beside it", mend_scale},
    {"scale-above-maximum", Severity::warning, LooksAt::state,
     "the scale is above the maximum that is stored beside it", mend_scale},
    {"tracker-past-interval", Severity::warning, LooksAt::state,
     "the counter has passed the window: the scale never grows again", "`tare edit CHECKPOINT growth_tracker=0`"},
    {"interval-not-positive", Severity::warning, LooksAt::state, "a growth interval below 1",
     "`tare edit CHECKPOINT window=1000`"},
    {"growth-factor-too-small", Severity::warning, LooksAt::state, "a growth factor that does not grow",
     "`tare edit CHECKPOINT growth_factor=2`"},
    {"backoff-factor-out-of-range", Severity::warning, LooksAt::state, "a back-off factor outside (0, 1)",
     "`tare edit CHECKPOINT backoff_factor=0.5`"},
    {"scale-set-anew", Severity::warning, LooksAt::state, "the run's configuration sets another scale after each step",
     "Change the loss scale in the configuration"},
    {"dynamic-without-effect", Severity::warning, LooksAt::state,
     "a flag says whether the scale moves, and the class says otherwise", ""},
    {"dynamic-keys-missing", Severity::warning, LooksAt::state,
     "a flag says that the scale moves, and keys that a load asks for then are not there",
     "`tare edit CHECKPOINT dynamic=false` if it was set by hand"},
    {"fields-disagree", Severity::warning, LooksAt::state, "two fields that hold one value hold different ones",
     "`tare edit CHECKPOINT scale=VALUE` sets both"},
    {"overflow-stops-run", Severity::warning, LooksAt::state,
     "the next overflow ends the run: the scale is at its minimum",
     "`tare edit CHECKPOINT scale=2^15` gives it room; go back further if the run overflowed all the way down"},
    {"counter-out-of-reach", Severity::warning, LooksAt::state, "a counter holds what the rule never leaves there",
     "`tare edit CHECKPOINT KEY=0`, or resume from another checkpoint: something else wrote this one"},
    {"hysteresis-spent", Severity::note, LooksAt::state, "the next overflow backs off at once",
     "Normal behind an overflow; `tare edit CHECKPOINT hysteresis_tracker=2` fills it"},
    {"scale-not-power-of-two", Severity::warning, LooksAt::state,
     "no scale that the framework's factors lead to from its default", "Harmless if it was set by hand"},
    {"window-not-in-list", Severity::warning, LooksAt::state, "mindformers' window is not that of its level",
     "`tare inspect CHECKPOINT` shows both; `tare edit CHECKPOINT window=VALUE` sets the one"},
    {"chained-scales-differ", Severity::warning, LooksAt::state,
     "optimizers that are one chain hold different scales, and the loss is scaled by the first one's",
     "`tare edit CHECKPOINT scale=VALUE --all` makes them one"},
    {"scales-far-apart", Severity::note, LooksAt::state,
     "scalers of one checkpoint hold scales that are very far apart",
     "Normal of losses of different size; else `tare edit CHECKPOINT scale=VALUE --at PATH` moves the one that is "
     "astray"},
    {"adam-half", Severity::warning, LooksAt::state, "Adam's second moments are float16, and its eps is 0 there",
     "Keep the optimizer's state in float32 or bfloat16, or set its eps to 1e-7 or more before the run goes on"},
    {"moments-zero", Severity::warning, LooksAt::state, "Adam's second moments hold nothing but 0 after a step",
     "Look at the scale that the gradients came with, and keep the optimizer's state in float32 or bfloat16"},
    {"grad-scaler-missing", Severity::warning, LooksAt::state, "Megatron saved no scaler, and a resume starts anew",
     "`tare migrate SOURCE --into CHECKPOINT` puts one in"},
    {"grad-scaler-empty", Severity::warning, LooksAt::state, "Megatron saved an empty scaler",
     "`tare migrate SOURCE --into CHECKPOINT` fills it"},
    {"grad-scaler-skipped", Severity::warning, LooksAt::state, "the run does not load the scaler that is saved",
     "Resume without --loss-scale, in fp16, if it is to be loaded"},
    {"optimizer-under-old-key", Severity::note, LooksAt::state,
     "Megatron's optimizer stands where an older release kept it", ""},
    {"amax-not-finite", Severity::warning, LooksAt::state, "an FP8 history holds inf or nan", mend_fp8},
    {"history-empty", Severity::note, LooksAt::state, "FP8 histories without an amax: no step was made with them",
     "Normal for a new layer; `tare fp8 inject CHECKPOINT STATE.json` puts one in"},
    {"fp8-tensors-unknown", Severity::warning, LooksAt::state, "FP8 scales whose tensors are not known", ""},
    {"fp8-state-empty", Severity::note, LooksAt::state,
     "FP8 modules without a state: FP8 was off, or its recipe keeps none",
     "Normal of current, block and MXFP8 scaling; for delayed scaling `tare fp8 inject CHECKPOINT STATE.json` puts it "
     "in"},
    {"state-not-read", Severity::warning, LooksAt::state, "a state that is there and cannot be read", ""},
    {"state-not-loaded", Severity::warning, LooksAt::state, "a state of tare's own that no scaler starts from", ""},
    {"scaler-not-readable", Severity::warning, LooksAt::state, "a scaler's shape, with a field that is no number", ""},
    {"no-scaler", Severity::note, LooksAt::state, "no scaler is in the checkpoint",
     "`tare migrate SOURCE --into CHECKPOINT` puts another's in where there is a place for one"},

    // ---- files; lib/checkpoint knows what belongs together
    {"copies-disagree", Severity::error, LooksAt::files, "rank files hold different values for one scaler",
     "`tare edit CHECKPOINT --align` gives all of them the state that most have"},
    {"fp8-ranks-differ", Severity::note, LooksAt::files, "rank files hold other FP8 state for one layer",
     "Normal where ranks do not reduce their amaxes; verbs act on every file's, --layer 'FILE:LAYER' on one"},
    {"groups-disagree", Severity::warning, LooksAt::files, "data-parallel groups hold different values", ""},
    {"copies-missing", Severity::error, LooksAt::files, "rank files lack the scaler that others of their group hold",
     complete},
    {"rank-missing", Severity::error, LooksAt::files, "ranks without a file", complete},
    {"incomplete-checkpoint", Severity::error, LooksAt::files, "its save never finished, or files are missing",
     complete},
    {"pointer-astray", Severity::error, LooksAt::files, "the run's pointer names a save that is not there",
     "No resume finds a checkpoint by it: let it name one that is there, `tare ls RUN` lists them"},
    {"file-not-read", Severity::error, LooksAt::files, "a file of the set cannot be read",
     "Take another copy of it, or resume from another checkpoint: `tare timeline RUN` lists them"},
    {"item-not-read", Severity::error, LooksAt::files, "an item of a checkpoint cannot be read", complete},
});

}  // namespace

std::string_view name(LooksAt what) {
  constexpr std::array<std::string_view, 3> names = {"trace", "state", "files"};
  return names[static_cast<std::size_t>(what)];
}

std::span<const Rule> rules() {
  return table;
}

const Rule* find_rule(std::string_view code) {
  const auto found = std::ranges::find(table, code, &Rule::code);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tare

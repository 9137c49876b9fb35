// A trainer of the user's own: the number of a step and a scale in one line, under their usual names.
#include "lib/trace/text/joined.hpp"
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

/// A line may hold several: the one of that name, then what is a sum by its name, then any.
constexpr auto losses = std::to_array<LineField>({
    {.fact = loss, .label = "loss", .is_whole = true},
    {.fact = loss, .label = "Loss", .is_whole = true},
    {loss, "step_loss"},
    {loss, "loss is"},
    {loss, "total_loss"},
    {loss, "total loss"},
    {loss, "train_loss"},
    {loss, "train loss"},
    {loss, "lm_loss"},
    {loss, "lm loss"},
    {loss, "loss train"},        // litgpt
    {loss, "loss/train/total"},  // composer
    {loss, "loss"},
    {loss, "Loss"},
});
constexpr auto required_loss = std::to_array<LineField>({{loss, "Loss", true}});
constexpr auto step_names = std::to_array<LineField>({
    {.fact = epoch, .label = "Epoch", .is_counter = true},
    {.fact = epoch, .label = "epoch", .is_counter = true},
    {.fact = epoch, .label = "Epoch", .is_counter = true, .may_have_prefix = true},
    {.fact = epoch, .label = "epoch", .is_counter = true, .may_have_prefix = true},
    {.fact = step, .label = "global_step", .is_counter = true},
    {.fact = step, .label = "train_step", .is_counter = true},
    {.fact = step, .label = "training_step", .is_counter = true},
    {.fact = step, .label = "current_step", .is_counter = true},
    {.fact = step, .label = "optimizer_step", .is_counter = true},
    {.fact = step, .label = "train/step", .is_counter = true},
    {.fact = step, .label = "step", .is_counter = true},
    {.fact = step, .label = "Step", .is_counter = true},
    {.fact = step, .label = "iteration", .is_counter = true},
    {.fact = step, .label = "Iteration", .is_counter = true},
    {.fact = step, .label = "iter", .is_counter = true},
    {.fact = step, .label = "Iter", .is_counter = true},
    {.fact = step, .label = "global_steps", .is_counter = true},
    {.fact = step, .label = "steps", .is_counter = true},
    {.fact = step, .label = "Skipped step", .is_whole = true},
    {.fact = step, .label = "skipped step", .is_whole = true},
    {.fact = step, .label = "step", .is_counter = true, .may_have_prefix = true},
    {.fact = step, .label = "Step", .is_counter = true, .may_have_prefix = true},
    {.fact = step, .label = "iteration", .is_counter = true, .may_have_prefix = true},
    {.fact = step, .label = "Iteration", .is_counter = true, .may_have_prefix = true},
    {.fact = step, .label = "iter", .is_counter = true, .may_have_prefix = true},
    {.fact = step, .label = "Iter", .is_counter = true, .may_have_prefix = true},
    {.fact = step, .label = "steps", .is_required = true, .is_counter = true, .may_have_prefix = true},
    {.fact = total, .label = "/", .is_next = true},
    {.fact = total, .label = " / ", .is_next = true},
});
/// Where no step is named: what a batch is called without a total may be how many samples it has.
constexpr auto place_in_epoch = std::to_array<LineField>({
    {.fact = epoch, .label = "Epoch", .is_counter = true},
    {.fact = epoch, .label = "epoch", .is_required = true, .is_counter = true},
    {.fact = batch, .label = "Batch", .behind = '/', .is_counter = true},
    {.fact = batch, .label = "batch", .behind = '/', .is_counter = true},
    {.fact = total, .label = "/", .is_next = true},
});
constexpr auto norms = std::to_array<LineField>({
    {grad_norm, "grad_norm"},
    {grad_norm, "grad norm"},
    {grad_norm, "gnorm"},
});

constexpr auto with_scale(std::string_view label) {
  return joined(losses, step_names, std::to_array<LineField>({{printed, label, true}}), norms);
}

constexpr auto loss_scale = with_scale("loss_scale");
constexpr auto spaced_loss_scale = with_scale("oss scale");
constexpr auto loss_scaling = with_scale("loss_scaling");
constexpr auto grad_scale = with_scale("grad_scale");

constexpr auto usual_names = std::to_array<LineField>({
    {printed, "oss_scale"},
    {printed, "oss scale"},
    {printed, "oss_scaling"},
    {printed, "rad_scale"},
});
constexpr auto rarer_names = std::to_array<LineField>({
    {printed, "oss Scale"},       {printed, "loss-scale"},    {printed, "lossscale"},    {printed, "LossScale"},
    {printed, "loss_scaler"},     {printed, "rad scale"},     {printed, "rad Scale"},    {printed, "gradscale"},
    {printed, "radient scale"},   {printed, "radient_scale"}, {printed, "rad_scaler"},   {printed, "radScaler"},
    {printed, "radScaler scale"}, {printed, "amp_scale"},     {printed, "amp scale"},    {printed, "fp16_scale"},
    {printed, "cur_scale"},       {printed, "dynamic_scale"}, {printed, "scaler_scale"}, {printed, "caler scale"},
    {printed, "oss Scaler"},      {printed, "oss scaler"},    {printed, "get_scale()"},  {printed, "radScale"},
    {printed, "caler._scale"},    {printed, "scaler", true},
});
constexpr auto other_scale = joined(losses, step_names, rarer_names, norms);
/// What most lines lack comes first.
constexpr auto bare_names = std::to_array<LineField>({
    {.fact = printed, .label = "scale", .is_whole = true},
    {.fact = printed, .label = "Scale", .is_required = true, .is_whole = true},
});
constexpr auto bare_scale = joined(bare_names, losses, step_names, norms);

/// Also torchtitan's, nanotron's, NeMo's, litgpt's and diffusion-pipe's.
constexpr auto own_words_without_scale = joined(losses, required_loss, step_names, norms);
/// What is told of an evaluation is no loss of the run, and the first of several numbers no step (DLLogger's).
constexpr std::string_view evaluation =
    "alid;eval;Eval;val_loss;val loss;Val loss;Val Loss;test;Test;\"step\": [;\"step\":[";

/// What began as PyTorch's ImageNet example: "Epoch: [0][3/100]".
constexpr auto meters_scale = joined(losses,
                                     std::to_array<LineField>({
                                         {epoch, "Epoch: [", true, ']'},
                                         {step, "][", true, '/'},
                                         {.fact = total, .label = "/", .is_next = true},
                                     }),
                                     usual_names, rarer_names, norms);
constexpr auto scale_in_epoch = joined(losses, place_in_epoch, usual_names, rarer_names, norms);
constexpr auto bare_scale_in_epoch = joined(bare_names, losses, place_in_epoch, norms);

/// A logarithm, to the base of two.
constexpr auto logarithm = joined(losses, step_names,
                                  std::to_array<LineField>({
                                      {exponent, "log2_loss_scale"},
                                      {exponent, "log2_grad_scale"},
                                      {exponent, "log2 loss_scale"},
                                      {exponent, "log2 loss scale"},
                                      {exponent, "log2 grad scale"},
                                      {exponent, "log2-loss-scale"},
                                      {exponent, "log2-loss_scale", true},
                                  }),
                                  norms);

/// A configuration has an epoch and a scale, too, and what looks like a table of meters is read by the shapes above.
constexpr std::string_view no_step_of_epoch =
    "nit;min;Min;max;Max;arget;indow;actor;default;args;Namespace;Epoch: [;Valid";

/// What is printed without a step. Of a configuration it is no run's.
constexpr auto lone_scale = std::to_array<LineField>({
    {printed, "oss_scale"},
    {printed, "oss scale"},
    {printed, "oss Scale"},
    {printed, "rad_scale"},
    {printed, "rad scale"},
    {printed, "rad Scale"},
    {printed, "caler scale"},
    {printed, "caler's scale"},
    {printed, "get_scale()", true},
});
constexpr std::string_view configuration = "nit;min;Min;max;Max;arget;indow;actor;default;args";

/// Losses that are printed without a step: of an epoch, of a batch.
constexpr auto lone_loss = joined(losses, required_loss);
/// Nor are losses that are told of a run: its least one, what it is made of.
constexpr std::string_view no_course =
    "alid;eval;Eval;val_loss;val loss;Val loss;Val Loss;test;Test;best;Best;min_loss;min loss;Min loss;inimum;"
    "weight;func;early;Early;\"step\": [;\"step\":[";

/// PyTorch's examples, open_clip's training and what began as one of them: behind it stand samples, and no step.
constexpr LineField train_epoch[] = {{.fact = loss, .label = "Loss: ", .is_required = true, .is_whole = true}};

/// torchtune's bars.
constexpr LineField torchtune_bar[] = {{step, "|", true, '|'}, {loss, "|Loss: ", true}};

/// What trainers warn of, in words that many have from each other: "Found infinite gradient. ... The current scale is
/// 65536.0", "NaN in gradients, skipping step. Current scale: 65536.0".
constexpr LineField skipped_at[] = {{before, "urrent scale is"}, {before, "urrent scale", true}};

/// MiniLLM's trainer.
constexpr LineField own_words_scale[] = {
    {step, "global iter", true},
    {loss, "tot_loss"},
    {printed, "| scale", true},
};

constexpr LineShape own_words_lines[] = {
    {.kind = "log",
     .needle = "urrent scale",
     .also = "nfinite gradient;kipping",
     .fields = skipped_at,
     .overflow = true,
     .is_kind_sure = false},
    {.kind = "log",
     .needle = "| scale: ",
     .also = "global iter",
     .fields = own_words_scale,
     .meaning = Meaning::report},
    {.kind = "log",
     .needle = "cale",
     .also = "log2",
     .fields = logarithm,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "cale",
     .also = "Epoch: [",
     .fields = meters_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "loss_scale",
     .without = "Epoch: [",
     .fields = loss_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "oss scale",
     .fields = spaced_loss_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "loss_scaling",
     .fields = loss_scaling,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "grad_scale",
     .without = "Epoch ",
     .fields = grad_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "cale",
     .without = "Epoch: [",
     .fields = other_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "cale",
     .without = "Epoch: [",
     .fields = bare_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_doubtful = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "cale",
     .without = no_step_of_epoch,
     .fields = scale_in_epoch,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_doubtful = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "cale",
     .without = no_step_of_epoch,
     .fields = bare_scale_in_epoch,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_doubtful = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "cale",
     .without = configuration,
     .fields = lone_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_lone = true},
    {.kind = "log",
     .needle = "loss",
     .without = evaluation,
     .fields = own_words_without_scale,
     .meaning = Meaning::aside,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log",
     .needle = "Loss",
     .without = evaluation,
     .fields = own_words_without_scale,
     .meaning = Meaning::aside,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "log", .needle = "Loss: ", .also = "Train Epoch: ", .fields = train_epoch, .meaning = Meaning::aside},
    {.kind = "log", .needle = "|Loss: ", .fields = torchtune_bar, .meaning = Meaning::aside},
    {.kind = "log",
     .needle = "loss",
     .without = no_course,
     .fields = lone_loss,
     .meaning = Meaning::aside,
     .is_last_resort = true,
     .is_lone = true},
    {.kind = "log",
     .needle = "Loss",
     .without = no_course,
     .fields = lone_loss,
     .meaning = Meaning::aside,
     .is_last_resort = true,
     .is_lone = true},
};

}  // namespace

std::span<const LineShape> own_words_shapes() {
  return own_words_lines;
}

}  // namespace tare

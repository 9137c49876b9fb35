// tqdm's bars, Lightning's and the diffusers' scripts' among them, with a loss, and with a scale where somebody shows
// it. Source: tqdm 4.67, std.py, format_meter; lightning 2.6, callbacks/progress/tqdm_progress.py.
#include "lib/trace/text/joined.hpp"
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

/// "Epoch 1/3:", "[Epoch 0 / Train]:", "Training epoch 1:"; in small letters what stands behind the bar may be called
/// so.
constexpr auto place_of_bar = std::to_array<LineField>({
    {.fact = epoch, .label = "Epoch", .is_counter = true, .may_have_prefix = true},
    {epoch, "rain epoch"},
    {epoch, "raining epoch"},
    {epoch, "epoch", false, ':'},
    {step, "| ", true, '/'},
    {per_epoch, "/", true},
});

constexpr auto tqdm_bar = joined(place_of_bar, std::to_array<LineField>({
                                                   {loss, "train_loss_step="},
                                                   {loss, "train_loss="},
                                                   {loss, "step_loss="},
                                                   {loss, "avr_loss="},
                                                   {loss, " Loss="},
                                                   {loss, " loss=", true},
                                               }));

constexpr auto tqdm_bar_with_scale = joined(place_of_bar, std::to_array<LineField>({
                                                              {printed, "loss_scale="},
                                                              {printed, "grad_scale="},
                                                              {printed, "amp_scale="},
                                                              {printed, "scaler=", true},
                                                              {loss, "train_loss="},
                                                              {loss, "step_loss="},
                                                              {loss, " loss="},
                                                          }));

constexpr auto tqdm_bar_with_bare_scale =
    joined(place_of_bar, std::to_array<LineField>({
                             {.fact = printed, .label = "scale=", .is_whole = true},
                             {.fact = printed, .label = "Scale=", .is_required = true, .is_whole = true},
                             {loss, " loss="},
                             {loss, " Loss="},
                         }));

constexpr LineShape tqdm_lines[] = {
    {.kind = "tqdm-bar",
     .needle = "cale",
     .also = "it/s, ;s/it, ",
     .without = "global_step=;v_num=",
     .fields = tqdm_bar_with_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "tqdm-bar",
     .needle = "cale=",
     .also = "it/s, ;s/it, ",
     .without = "global_step=;v_num=",
     .fields = tqdm_bar_with_bare_scale,
     .meaning = Meaning::moment,
     .is_last_resort = true,
     .is_doubtful = true,
     .is_of_any_trainer = true},
    {.kind = "tqdm-bar",
     .needle = "Loss=",
     .also = "it/s, ;s/it, ",
     .without = "global_step=",
     .fields = tqdm_bar,
     .meaning = Meaning::aside,
     .is_last_resort = true,
     .is_of_any_trainer = true},
    {.kind = "tqdm-bar",
     .needle = "loss",
     .also = "it/s, ;s/it, ",
     .without = "global_step=",
     .fields = tqdm_bar,
     .meaning = Meaning::aside,
     .is_last_resort = true,
     .is_of_any_trainer = true},
};

}  // namespace

std::span<const LineShape> tqdm_shapes() {
  return tqdm_lines;
}

}  // namespace tare

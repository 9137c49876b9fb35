// BMTrain: optim/optim_manager.py tells of each overflow, and the scripts of BMTrain, ModelCenter and CPM-Live print
// the scale that a step left. (One that stays at its floor prints a back-off all the same.)
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField bmtrain_event[] = {
    {before, "change scale from", true},
    {after, " to ", true},
};
constexpr LineField bmtrain_step_of_run[] = {
    {step, "Iter:", true, '|'},
    {loss, "| loss:"},
    {printed, "scale:", true},
    {grad_norm, "grad_norm:"},
};
constexpr LineField bmtrain_step_of_epoch[] = {
    {epoch, "epoch", true, '|'}, {step, "| Iter:", true, '/'}, {per_epoch, "/", true, '|'},
    {loss, "| loss:"},           {printed, "scale:", true},    {grad_norm, "grad_norm:"},
};

constexpr LineShape bmtrain_lines[] = {
    {.kind = "bmtrain-log",
     .needle = "change scale from ",
     .also = "Gradient overflow",
     .fields = bmtrain_event,
     .overflow = true},
    {.kind = "bmtrain-log",
     .needle = "scale: ",
     .also = "Iter: ",
     .without = "iter:",
     .fields = bmtrain_step_of_run,
     .meaning = Meaning::moment},
    {.kind = "bmtrain-log",
     .needle = "scale: ",
     .also = "| Iter: ",
     .without = "iter:",
     .fields = bmtrain_step_of_epoch,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> bmtrain_shapes() {
  return bmtrain_lines;
}

}  // namespace tare

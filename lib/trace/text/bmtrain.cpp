// BMTrain: optim/optim_manager.py tells of each overflow, and the scripts of BMTrain, ModelCenter and CPM-Live print
// the scale that a step left. (One that stays at its floor prints a back-off all the same.)
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField event[] = {
    {before, "change scale from", true},
    {after, " to ", true},
};
constexpr LineField step_of_run[] = {
    {step, "Iter:", true, '|'},
    {loss, "| loss:"},
    {printed, "scale:", true},
    {grad_norm, "grad_norm:"},
};
constexpr LineField step_of_epoch[] = {
    {epoch, "epoch", true, '|'}, {step, "| Iter:", true, '/'}, {per_epoch, "/", true, '|'},
    {loss, "| loss:"},           {printed, "scale:", true},    {grad_norm, "grad_norm:"},
};

constexpr LineShape shapes[] = {
    {.kind = "bmtrain-log",
     .needle = "change scale from ",
     .also = "Gradient overflow",
     .fields = event,
     .overflow = true},
    {.kind = "bmtrain-log",
     .needle = "scale: ",
     .also = "Iter: ",
     .without = "iter:",
     .fields = step_of_run,
     .meaning = Meaning::moment},
    {.kind = "bmtrain-log",
     .needle = "scale: ",
     .also = "| Iter: ",
     .without = "iter:",
     .fields = step_of_epoch,
     .meaning = Meaning::moment},
};

}  // namespace

std::span<const LineShape> bmtrain_shapes() {
  return shapes;
}

}  // namespace tare

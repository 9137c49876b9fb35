// icefall, ZipVoice, vall-e: train.py. Every rank prints; small scales are doubled by hand.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField icefall_moment[] = {
    {rank, "(", false, '/'}, {epoch, "Epoch ", true},  {step, "global_batch_idx: "},
    {batch, "batch ", true}, {loss, "tot_loss[loss="}, {after, "grad_scale: ", true},
};

constexpr LineField icefall_small[] = {
    {rank, "(", false, '/'},
    {after, "Grad scale is small", true},
};

constexpr LineShape icefall_lines[] = {
    {.kind = "icefall-log",
     .needle = "grad_scale: ",
     .also = "Epoch ",
     .fields = icefall_moment,
     .meaning = Meaning::moment,
     .first_epoch = 1},
    {.kind = "icefall-log", .needle = "Grad scale is small", .fields = icefall_small, .is_told_again = true},
    {.kind = "icefall-log", .needle = "grad_scale is too small, exiting", .meaning = Meaning::end},
};

}  // namespace

std::span<const LineShape> icefall_shapes() {
  return icefall_lines;
}

}  // namespace tare

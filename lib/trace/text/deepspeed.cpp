// DeepSpeed, all releases: deepspeed/runtime/fp16/{loss_scaler,fused_optimizer,unfused_optimizer}.py, runtime/zero,
// runtime/engine.py. OVERFLOW lines have no step number; `skipped=` counts since the run began.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField deepspeed_attempt[] = {
    {rank, "Rank "},
    {before, "Attempted loss scale", true},
    {after, "reducing to"},
};

constexpr LineField deepspeed_iteration[] = {
    {step, "overflow on iteration", true},
};

constexpr LineField deepspeed_change[] = {
    {before, "dynamic loss scale from", true},
    {after, " to ", true},
};

constexpr LineField deepspeed_held[] = {
    {before, "static loss scale of", true},
};

constexpr LineField deepspeed_bare[] = {
    {rank, "Rank "},
};

constexpr LineField deepspeed_progress[] = {
    {step, "step=", true, ','},
    {skipped_total, "skipped=", true},
};

constexpr LineShape deepspeed_lines[] = {
    {.kind = "deepspeed-log",
     .needle = "Attempted loss scale",
     .also = "but hysteresis",
     .fields = deepspeed_attempt,
     .overflow = true,
     .part = Part::attempt,
     .holds = true},
    {.kind = "deepspeed-log",
     .needle = "Attempted loss scale",
     .also = "[deep",
     .fields = deepspeed_attempt,
     .overflow = true,
     .part = Part::attempt},
    {.kind = "deepspeed-log",
     .needle = "Attempted loss scale",
     .also = "Overflow detected",
     .fields = deepspeed_attempt,
     .overflow = true,
     .part = Part::detected},
    {.kind = "deepspeed-log",
     .needle = "Attempted loss scale",
     .also = "Rank ",
     .fields = deepspeed_attempt,
     .overflow = true,
     .part = Part::attempt},
    {.kind = "apex-log",
     .needle = "Attempted loss scale",
     .fields = deepspeed_attempt,
     .overflow = true,
     .part = Part::attempt,
     .is_kind_sure = false},
    {.kind = "deepspeed-log",
     .needle = "OVERFLOW! Rank",
     .also = "Skipping step",
     .without = "Attempted",
     .fields = deepspeed_bare,
     .overflow = true},
    {.kind = "apex-log",
     .needle = "Grad overflow on iteration",
     .fields = deepspeed_iteration,
     .overflow = true,
     .part = Part::iteration,
     .unit = "iteration-0",
     .is_kind_sure = false},
    {.kind = "deepspeed-log",
     .needle = "Reducing dynamic loss scale from",
     .also = "fused_optimizer.py:",
     .fields = deepspeed_change,
     .overflow = true,
     .part = Part::change},
    {.kind = "apex-log",
     .needle = "Reducing dynamic loss scale from",
     .fields = deepspeed_change,
     .overflow = true,
     .part = Part::change,
     .is_kind_sure = false},
    {.kind = "deepspeed-log",
     .needle = "Increasing dynamic loss scale from",
     .also = "fused_optimizer.py:",
     .fields = deepspeed_change,
     .overflow = false},
    {.kind = "apex-log",
     .needle = "Increasing dynamic loss scale from",
     .fields = deepspeed_change,
     .overflow = false,
     .is_kind_sure = false},
    {.kind = "apex-log",
     .needle = "Using static loss scale of",
     .fields = deepspeed_held,
     .overflow = true,
     .part = Part::change,
     .holds = true,
     .is_kind_sure = false},
    {.kind = "deepspeed-log", .needle = "loss scale already at minimum", .meaning = Meaning::death, .overflow = true},
    {.kind = "deepspeed-log",
     .needle = "skipped=",
     .also = "step=",
     .fields = deepspeed_progress,
     .meaning = Meaning::report},
};

}  // namespace

std::span<const LineShape> deepspeed_shapes() {
  return deepspeed_lines;
}

}  // namespace tare

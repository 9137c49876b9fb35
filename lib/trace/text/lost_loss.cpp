// What trainers say of a loss that is no number, most of them as the last thing that they do. Source: detectron2 0.6,
// engine/train_loop.py, _write_metrics; DETR, engine.py, as MAE, BEiT, DINO and Swin V2 have it from there; mmengine
// 0.10, hooks, CheckInvalidLossHook of mmdet 3.3; Lightning 2.6, loops/utilities and callbacks/early_stopping.py;
// Keras 3.5, callbacks/terminate_on_nan.py; TensorFlow 2.16, estimator's basic_session_run_hooks.py; Composer 0.28,
// callbacks/nan_monitor.py; AllenNLP 2.10, gradient_descent_trainer.py; Megatron-LM core 0.12, pretrain_gpt.py.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

constexpr LineShape said(std::string_view needle, std::string_view also = {}) {
  return {.kind = "log", .needle = needle, .also = also, .meaning = Meaning::lost};
}

constexpr LineShape lost_loss_lines[] = {
    said("Loss became infinite or NaN"),
    said("loss become infinite or NaN"),
    said("Loss is nan, stopping training"),
    said("Loss is inf, stopping training"),
    said("Loss is -inf, stopping training"),
    said("The loss returned in `training_step` is"),
    said("loss", "= nan is not finite. Previous best value;= inf is not finite. Previous best value"),
    said("Invalid loss, terminating training"),
    said("Model diverged with loss = NaN"),
    said("NaN loss during training"),
    said("rain loss contains a NaN"),
    said("nan loss encountered"),
    said("in local forward loss calculation", "found NaN;found Inf"),
};

}  // namespace

std::span<const LineShape> lost_loss_shapes() {
  return lost_loss_lines;
}

}  // namespace tare

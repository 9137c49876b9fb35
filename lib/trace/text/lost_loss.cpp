// What trainers say of a loss that is no number, most of them as the last thing that they do. Source: detectron2,
// engine/train_loop.py; DETR, engine.py, as MAE, BEiT and DINO have it from there; mmdet, CheckInvalidLossHook;
// Lightning, finite checks and EarlyStopping; Keras and MindSpore, which end at an invalid loss; TensorFlow,
// NanTensorHook; Composer, NaNMonitor; AllenNLP, the trainer; Megatron-LM, pretrain_gpt.py.
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
    said("NaN loss encountered"),
    said("in local forward loss calculation", "found NaN;found Inf"),
};

}  // namespace

std::span<const LineShape> lost_loss_shapes() {
  return lost_loss_lines;
}

}  // namespace tare

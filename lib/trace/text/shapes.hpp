// The shapes of each framework's lines: a file each.
#pragma once

#include <span>

#include "lib/trace/text/line_shape.hpp"

namespace tare {

std::span<const LineShape> deepspeed_shapes();
std::span<const LineShape> megatron_shapes();
std::span<const LineShape> fairseq_shapes();
std::span<const LineShape> apex_shapes();
std::span<const LineShape> swin_shapes();
std::span<const LineShape> metric_logger_shapes();
std::span<const LineShape> icefall_shapes();
std::span<const LineShape> mindformers_shapes();
std::span<const LineShape> mindyolo_shapes();
std::span<const LineShape> espnet_shapes();
std::span<const LineShape> paddle_shapes();
std::span<const LineShape> colossalai_shapes();
std::span<const LineShape> insightface_shapes();
std::span<const LineShape> dllogger_shapes();
std::span<const LineShape> mmengine_shapes();
std::span<const LineShape> nemo_shapes();
std::span<const LineShape> huggingface_shapes();
std::span<const LineShape> lightning_shapes();
std::span<const LineShape> bmtrain_shapes();
std::span<const LineShape> guided_diffusion_shapes();
std::span<const LineShape> fairseq2_shapes();
std::span<const LineShape> internevo_shapes();
std::span<const LineShape> mxnet_shapes();
std::span<const LineShape> parlai_shapes();
std::span<const LineShape> coqui_shapes();
std::span<const LineShape> audiocraft_shapes();
std::span<const LineShape> eva_clip_shapes();
std::span<const LineShape> clu_shapes();
std::span<const LineShape> funasr_shapes();
std::span<const LineShape> timm_shapes();
std::span<const LineShape> tqdm_shapes();
std::span<const LineShape> keras_shapes();
std::span<const LineShape> lost_loss_shapes();
std::span<const LineShape> own_words_shapes();

}  // namespace tare

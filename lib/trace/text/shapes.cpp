#include "lib/trace/text/shapes.hpp"

#include <vector>

namespace tare {

namespace {

using Shapes = std::span<const LineShape> (*)();

/// A framework is one file and one line. Where two shapes fit one place in a line, the earlier one rules.
constexpr Shapes every_shape[] = {
    deepspeed_shapes,  megatron_shapes,    fairseq_shapes,
    apex_shapes,       swin_shapes,        metric_logger_shapes,
    icefall_shapes,    mindformers_shapes, mindyolo_shapes,
    espnet_shapes,     paddle_shapes,      internevo_shapes,
    colossalai_shapes, insightface_shapes, dllogger_shapes,
    mmengine_shapes,   nemo_shapes,        huggingface_shapes,
    lightning_shapes,  bmtrain_shapes,     guided_diffusion_shapes,
    fairseq2_shapes,   mxnet_shapes,       parlai_shapes,
    coqui_shapes,      audiocraft_shapes,  eva_clip_shapes,
    clu_shapes,        funasr_shapes,      timm_shapes,
    tqdm_shapes,       keras_shapes,       lost_loss_shapes,
    own_words_shapes,
};

}  // namespace

std::span<const LineShape* const> line_shapes() {
  static const std::vector<const LineShape*> all = [] {
    std::vector<const LineShape*> found;
    for (const Shapes shapes : every_shape) {
      for (const LineShape& shape : shapes()) found.push_back(&shape);
    }
    return found;
  }();
  return all;
}

}  // namespace tare

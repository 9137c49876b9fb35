// What frameworks import, run or write because of where a text stands in a checkpoint or a configuration.
//
// Sources: mmengine/infer/infer.py, composer/models/huggingface.py, pyannote.audio (core/model.py, core/pipeline.py),
// nnunetv2/utilities/get_network_from_plans.py, allennlp and tango (common/registrable.py), fairseq (models/wav2vec,
// optim/adam.py), onnxruntime-genai's configuration, monai/bundle/config_item.py.
#pragma once

#include "lib/attest/doubt.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Of any tree, a pickle's as well as that of JSON.
Doubt doubt_of_places(const Tree& tree);

}  // namespace tare

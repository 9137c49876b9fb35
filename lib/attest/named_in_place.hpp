// What frameworks import, run or write because of where a text stands in a checkpoint or a configuration.
//
// Sources: mmengine/infer/infer.py and runner/runner.py, composer/models/huggingface.py, pyannote.audio
// (core/model.py), nnunetv2/utilities/get_network_from_plans.py, nnssl's adaptation plans, onnxruntime-genai's
// configuration.
#pragma once

#include "lib/attest/doubt.hpp"
#include "lib/attest/tree_origin.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Of the places that count in a tree of that origin.
Doubt doubt_of_places(const Tree& tree, TreeOrigin origin);

}  // namespace tare

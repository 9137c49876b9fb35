// What Composer makes of the parts of a checkpoint's `state`: algorithms, and a tokenizer and a model of Hugging Face.
// Source: composer/core/state.py (_apply_required_algorithms), composer/models/huggingface.py
// (hf_from_composer_checkpoint, get_hf_config_from_composer_state_dict).
#pragma once

#include "lib/attest/doubt.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Algorithms, of which each is evaluated by its `repr`: `builtins.eval` for those that are more than a call with
/// literals.
Doubt doubt_of_algorithms(const Tree& tree, NodeId algorithms);

/// Files of a tokenizer that are written before anything reads them: those that are code, or lie elsewhere.
Doubt doubt_of_written_files(const Tree& tree, NodeId files);

/// A model's configuration, that may ask for code of the Hub.
Doubt doubt_of_hub_code(const Tree& tree, NodeId configuration);

}  // namespace tare

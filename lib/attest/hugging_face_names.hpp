// What configurations of Hugging Face's libraries name for import, beside the words that are the same in any file.
#pragma once

#include <vector>

#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Classes of modules that are not the libraries' own, nor torch's activations:
///   adapter_config.json  `parent_library` and `base_model_class` of an `auto_mapping`  (peft/auto.py)
///   config.json          `activation_function`, `tokenizer_class`, `types` beside `structure` of a module,
///                        `activation_fn` of a CrossEncoder        (sentence_transformers/base/modules, cross_encoder)
///   modules.json         `type` beside `idx` and `path`                (sentence_transformers/SentenceTransformer.py)
///   model_index.json     pairs of library and class, a custom `_class_name`
///                        (diffusers/pipelines/pipeline_loading_utils.py)
///   config.json          `impl` in `custom_pipelines`              (transformers/pipelines)
std::vector<GlobalName> names_in_hugging_face(const Tree& tree);

}  // namespace tare

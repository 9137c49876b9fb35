// What JSON and YAML name for their loaders to import and call. A text is data to whoever only parses it; these are the
// words by which frameworks turn it into calls.
//
// Sources: hydra.utils.instantiate (`_target_`), CompVis' instantiate_from_config (`target` beside `params`),
// torchtune (`_component_`), jsonargparse and LightningCLI (`class_path`), MLflow (`loader_module`), jsonpickle
// (`py/...`), transformers (`auto_map`), skops (`__class__` beside `__module__`), Keras' to_json, PyYAML's
// constructors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/attest/doubt.hpp"
#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Of every object in a tree of JSON: what its loader would import.
std::vector<GlobalName> names_in_json(const Tree& tree);

/// The same of any other text, by its words alone, however they are escaped: TOML, JSON line by line. What is named
/// costs `budget`; its offset is that in the text without escapes.
Doubt doubt_of_words(std::string_view text, Budget& budget);
/// Of YAML also what could say more than its words do: tags that are not YAML's own, directives, escapes.
Doubt doubt_of_yaml(std::string_view text, Budget& budget);

/// Files that an index (`weight_map` of Hugging Face and Keras) names and that do not lie in its folder or below it.
std::vector<std::string> files_outside(const Tree& tree);

}  // namespace tare

// What the values of JSON, YAML and pickles name for their loaders to import and call. A text is data to whoever only
// parses it; these are the words by which frameworks turn it into calls.
//
// Sources: hydra.utils.instantiate (`_target_`), CompVis' instantiate_from_config (`target`, mostly beside `params`),
// torchtune (`_component_`), jsonargparse and LightningCLI (`class_path`), MLflow (`loader_module`), jsonpickle
// (`py/...`), transformers (`auto_map`), skops (`__class__` beside `__module__`), Keras' to_json, PyYAML's
// constructors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/attest/tree_origin.hpp"
#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Of every map in a tree: what the texts in it name for a loader to import.
std::vector<GlobalName> names_by_keys(const Tree& tree, TreeOrigin origin);

/// Of every object of Keras' in JSON: the same.
std::vector<GlobalName> names_for_keras(const Tree& tree);

/// Whether JSON is a program of torch.export: its operators are looked up by name, its sizes are read by SymPy, which
/// evaluates them as Python.
bool is_exported_program(const Tree& tree);

/// Files that an index (`weight_map` of Hugging Face and Keras) names and that do not lie in its folder or below it.
std::vector<std::string> files_outside(const Tree& tree);

}  // namespace tare

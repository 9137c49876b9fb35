// What PyTorch Lightning imports by the texts of a checkpoint's hyperparameters, whatever the checkpoint is written in.
// Source: lightning/pytorch/core/saving.py, _load_state (before 2.6.6), and lightning/pytorch/cli.py.
#pragma once

#include <vector>

#include "lib/container/container.hpp"

namespace tare {

/// Whether a function makes what the texts beside it name, and is none of the enemy's: they count in its place.
bool is_maker_of_lightning(const GlobalName& name);

/// Of every map with an instantiator: it, and the classes that are named for it anywhere in the tree.
std::vector<GlobalName> names_for_lightning(const Tree& tree);

}  // namespace tare

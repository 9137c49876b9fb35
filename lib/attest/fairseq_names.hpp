// Texts of a checkpoint's settings that fairseq evaluates where it builds a model or an optimizer of them.
// Source: fairseq/models, fairseq/optim, fairseq/criterions and examples/speech_recognition: `eval(` of `cfg` and
// `args`.
#pragma once

#include <vector>

#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// `builtins.eval` for those that call something.
std::vector<GlobalName> names_for_fairseq(const Tree& tree);

}  // namespace tare

// What torch.serialization.add_safe_globals has to be told for weights_only to load a file.
#pragma once

#include <string>
#include <vector>

#include "lib/attest/attest.hpp"

namespace tare {

struct SafeGlobal {
  std::string name;        ///< "module.name", as the pickle has it
  std::string needs;       ///< the statement that imports what the expression names
  std::string expression;  ///< for its list; a pair with `name` (torch 2.6) where that has moved since
};

/// Each once. Only of files that weights_only reads and that name nothing but what it allows and classes of frameworks:
/// nobody is told to trust what is dangerous or unknown or loads what it is given, and beside it the rest would not do.
/// What nested documents name is left out: torch does not look there.
std::vector<SafeGlobal> needed_safe_globals(const Attestation& attestation);

/// Files that torch.load reads and weights_only does not, whatever it is told: their opcodes are not of those that
/// torch.save writes by default (`pickle_protocol` above 2).
std::vector<std::string> never_weights_only(const Attestation& attestation);

}  // namespace tare

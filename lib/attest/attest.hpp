// What a checkpoint's pickles can and cannot do to whoever loads them, those inside other pickles included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/attest/extra_state.hpp"
#include "lib/attest/verdict.hpp"
#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Where a name or a document stands.
struct AttestedPlace {
  std::size_t file = 0;      ///< index into Checkpoint::files
  std::string inside;        ///< path of the value that holds the pickle, " > " between levels; empty: the file's own
  std::uint64_t offset = 0;  ///< of the opcode in the pickle that names it
};

/// A class or function that pickles name.
struct AttestedGlobal {
  std::string module;
  std::string name;
  Verdict verdict = Verdict::unknown;
  std::optional<TorchRelease> since;  ///< the first release whose weights_only takes it
  std::vector<AttestedPlace> places;  ///< one at least, in the order of files
};

struct AttestedExtraState {
  AttestedPlace place;
  ExtraStateFate fate;
};

/// What could not be looked into: nothing is known of it.
struct Unread {
  AttestedPlace place;
  std::string why;
};

struct Attestation {
  TorchRelease release = 0;
  std::size_t documents = 0;            ///< pickles and archives that were read, nested ones included
  std::vector<AttestedGlobal> globals;  ///< the worst first
  std::vector<AttestedExtraState> extra_states;
  std::vector<Unread> unread;

  /// Whether everything is data: every name is taken by weights_only as it is, and everything could be read.
  [[nodiscard]] bool is_plain() const;
};

/// Opens its files once more. REQUIRES: a checkpoint of the file system. Tensors of bytes are read where they hold an
/// extra state, or are small; nothing is run. Throws what opening throws, and `refused` for a file that changed.
Attestation attest(const Checkpoint& checkpoint, TorchRelease release);

/// "module.name" of every global that add_safe_globals would have to be told for weights_only to load the file, each
/// once: all that is refused and not dangerous. Those inside nested documents are left out: torch does not look there.
std::vector<std::string> needed_safe_globals(const Attestation& attestation);

}  // namespace tare

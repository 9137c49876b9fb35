// What a checkpoint can and cannot do to whoever loads it: every file of it, every byte, and pickles inside others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/attest/extra_state.hpp"
#include "lib/attest/verdict.hpp"
#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Where a name or a document stands.
struct AttestedPlace {
  std::size_t file = 0;      ///< index into Attestation::files
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

/// A file that was looked at, or something else that is there: a link, a folder that was left out.
struct AttestedFile {
  std::string path;  ///< as CheckpointFile has it
  std::uint64_t size = 0;
  bool is_torch = false;                ///< torch.load reads it by itself, so that weights_only has a say
  bool is_beyond_weights_only = false;  ///< its pickles have opcodes that weights_only does not read
};

/// Which files are meant.
enum class AttestScope : std::uint8_t {
  checkpoint,  ///< of a run folder the checkpoint that it leads to; its other folders are told as unread
  everything,  ///< all that lies below the target
};

/// What was not looked into, of which nothing is known, or is not what it seems.
struct Unread {
  AttestedPlace place;
  std::string why;
};

struct Attestation {
  TorchRelease release = 0;
  std::vector<AttestedFile> files;
  std::uint64_t bytes = 0;              ///< of the files that were looked at
  std::size_t documents = 0;            ///< pickles, archives and other formats that were read, nested ones included
  std::uint64_t calls = 0;              ///< opcodes of pickles that call, instantiate or give state
  std::vector<AttestedGlobal> globals;  ///< the worst first
  std::vector<AttestedExtraState> extra_states;
  std::vector<Unread> unread;

  /// Whether everything is data: every name is taken by weights_only as it is, and every byte of every file is
  /// accounted for.
  [[nodiscard]] bool is_plain() const;
};

/// What cannot be opened as a checkpoint, for `why`, can be loaded all the same, up to where that fails: a checkpoint
/// of nothing but its path, to be attested by its bytes. Throws `why` where there is no file and no folder, or it
/// cannot be read.
Checkpoint unopened(const std::string& path, const Error& why, const Files& files = local_files());

/// Opens all files anew. `files`: those that the checkpoint was opened with. Tensors of bytes are read where they hold
/// an extra state, or are small; nothing is run. Throws `io` where a folder cannot be listed, and `refused` where one
/// that is far away tells some of its files alone; what cannot be read is told.
Attestation attest(const Checkpoint& checkpoint, TorchRelease release, AttestScope scope = AttestScope::checkpoint,
                   const Files& files = local_files());

}  // namespace tare

// A path -> what scaler state is there: a file, a directory of rank files, or a run directory with many checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/file_identity.hpp"
#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"
#include "lib/base/source.hpp"
#include "lib/container/container.hpp"
#include "lib/dialect/found.hpp"

namespace tare {

struct OpenOptions {
  bool list_globals = false;            ///< fill CheckpointFile::globals
  bool keeps_for_edit = false;          ///< fill CheckpointFile::kept: what is read once is not read again
  const Files* files = &local_files();  ///< borrowed; edits need the file system, or a store that changes objects
  std::shared_ptr<Budget> budget = {};  ///< of all files together; open_checkpoint makes one where there is none
  /// Told now and then how many files are read, where it takes long.
  std::function<void(std::size_t done, std::size_t count)> on_progress = {};
};

/// A file that an edit takes over as it was read: a small one by its bytes, a checkpoint that is one large file as it
/// was opened. Whoever takes the container leaves nothing of it.
struct KeptFile {
  Bytes image;  ///< until it is planned what becomes of the file
  std::shared_ptr<const Source> source;
  std::unique_ptr<const Container> container;
};

struct CheckpointFile {
  std::string path;      ///< relative to the target if that is a directory, else to its folder
  std::string location;  ///< to open it: the target's own words and `path`
  std::string format;    ///< the container's: "torch_zip" ...
  std::uint64_t size = 0;
  std::optional<FileStamp> stamp;   ///< when it was read; nothing where it is not in the file system
  std::string version;              ///< of an object in a store the version that was read; else empty
  std::shared_ptr<KeptFile> kept;   ///< where asked for; null where nothing is kept
  std::vector<GlobalName> globals;  ///< what its container names, where asked for
  std::vector<std::size_t> parts;   ///< of a container that spans several: where its parts are in Checkpoint::files
};

/// Where one copy of a scaler is.
struct ScalerCopy {
  std::size_t file = 0;             ///< index into Checkpoint::files: the one that its container is opened by
  std::vector<std::size_t> places;  ///< the files that hold its fields, in order: `file` alone, or some of its parts
};

/// One distinct scaler: copies that are alike in every field.
struct Scaler {
  FoundScaler found;               ///< as the first copy has it; nodes are those of that copy's container
  std::vector<ScalerCopy> copies;  ///< one at least, in file order
  bool agree = true;               ///< false: rank files hold other values for the same scaler, as an entry of its own
  std::size_t group = 0;           ///< entries of one number would be one scaler if they agreed

  [[nodiscard]] const FoundScaler& state() const { return found; }
};

struct Checkpoint {
  std::string target;                     ///< as given
  std::string resolved;                   ///< the file or directory that was read
  const Files* storage = &local_files();  ///< where it is: OpenOptions::files, borrowed
  std::vector<CheckpointFile> files;
  std::vector<Scaler> scalers;
  /// Severity error: the answer is "no" (copies disagree, a rank file cannot be read). All files' findings are in here,
  /// each with its `file`.
  std::vector<Finding> findings;
};

/// Reads what `path` names. Throws `io`, `corrupt`, `unsupported` or `refused` where nothing of it can be read, and
/// `not_found` for a directory without a checkpoint, or one whose pointer file names a checkpoint that is not there.
Checkpoint open_checkpoint(const std::string& path, const OpenOptions& options);

/// The files that containers are opened by: parts of others mean nothing by themselves.
std::vector<std::size_t> whole_files(const Checkpoint& checkpoint);

/// The files that hold copies of a scaler, each once.
std::vector<std::size_t> files_of(const Scaler& scaler);

}  // namespace tare

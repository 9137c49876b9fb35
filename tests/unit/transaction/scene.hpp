// Small worlds for the transaction tests: files on a simulated disk, an edit of all of them, and what they should hold.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/transaction/scope.hpp"
#include "lib/transaction/transaction.hpp"
#include "tests/unit/transaction/simulated_disk.hpp"

namespace tare::test {

/// The user's key in these tests.
JournalKey own_key();
/// What belongs to `path`, looked at with that key.
Scope scope_of(FileLayer& files, const std::string& path, const std::string& upper = {});
/// Edits are sealed with it.
TransactionOptions sealed(TransactionOptions options = {});

/// The journal's bytes, sealed with the key.
Bytes encoded(const Journal& journal, const JournalKey& key);

/// Pseudo-random bytes: `seed` tells files apart.
Bytes noise(std::size_t size, std::uint32_t seed);

Patch patch_of(const Bytes& file, std::uint64_t offset, const Bytes& after);

struct FileContent {
  Bytes bytes;
  mode_t mode = 0;
  timespec mtime{};
};

struct Scene {
  const char* name;
  SimulatedDisk disk;
  std::vector<FileEdit> edits;

  [[nodiscard]] std::vector<FieldEdit> fields() const;
};

/// Every way in which a file can change: patches, an append, a splice, eight ranks at once ...
std::vector<Scene> all_scenes();
/// One of them. Throws where there is none of that name.
Scene scene_named(const std::string& name);

/// Rank files, each in a folder of its own: most are patched, some grow, some are written anew.
Scene rank_scene(const char* name, std::uint32_t count);

/// What the change makes of the bytes, worked out by itself.
Bytes changed(const Bytes& before, const FileChange& change);

std::map<std::string, FileContent> states(const SimulatedDisk& disk, const std::vector<FileEdit>& edits);

/// All bytes and modes; of the old state the times too.
bool all_old(const SimulatedDisk& disk, const std::map<std::string, FileContent>& old);
bool all_new(const SimulatedDisk& disk, const std::map<std::string, FileContent>& old,
             const std::vector<FileEdit>& edits);

inline constexpr const char* home = "/run/ckpt";

}  // namespace tare::test

// The manifest of an OCDBT database: how it was configured, and where the roots of its versions are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/container/orbax/ocdbt_body.hpp"

namespace tare {

/// A version of the database. Its B+tree's root stands in a data file.
struct OcdbtVersion {
  std::uint64_t generation = 0;
  std::uint64_t height = 0;  ///< of the root; leaves have 0
  std::uint64_t file = 0;    ///< of OcdbtManifest::files
  Span root;                 ///< there; empty where the database is
  std::uint64_t keys = 0;
  std::uint64_t tree_bytes = 0;
  std::uint64_t indirect_bytes = 0;
  std::uint64_t commit_time = 0;  ///< nanoseconds since 1970
};

struct OcdbtManifest {
  std::uint64_t arity_log2 = 0;  ///< of the tree of versions
  std::optional<int> zstd_level;
  std::vector<OcdbtFile> files;
  std::vector<OcdbtVersion> versions;  ///< one at least; the last one rules
  Bytes before_versions;               ///< what stands before and behind them in the body
  Bytes behind_versions;
};

/// Throws what ocdbt_body throws, `corrupt` where it is no manifest, and `unsupported` for one whose versions are in
/// files of their own ("numbered").
OcdbtManifest read_ocdbt_manifest(ByteView file, const std::string& name, Budget& budget);

/// The manifest with a version behind the others, which become its history. Where the next generation opens another
/// node of the tree of versions, the manifest keeps none of those before: they are history, and need not be there.
Bytes with_version(const OcdbtManifest& manifest, const OcdbtVersion& version);

}  // namespace tare

// The B+tree of a version of an OCDBT database, read whole: keys with their values, most of which stand in the leaves.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/container/orbax/ocdbt_manifest.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// A value in place of another.
struct OcdbtChange {
  std::string key;
  Bytes value;
};

/// What a change asks of the files: nodes to add behind the end of data files, and a manifest that leads to them.
struct OcdbtCommit {
  std::map<std::string, Bytes> added;  ///< by data file
  Bytes manifest;
};

class OcdbtTree {
 public:
  /// Reads the tree of the manifest's last version; keeps `folder`. `name` is the manifest's. Throws `corrupt` where
  /// nodes are damaged or lead back to themselves, `refused` where there are more than lib/base/limits.hpp allows, and
  /// what `folder` throws.
  OcdbtTree(std::shared_ptr<const SourceFolder> folder, const OcdbtManifest& manifest, const std::string& name);

  /// All keys, in order.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool has(const std::string& key) const { return entries_.contains(key); }
  [[nodiscard]] std::uint64_t value_size(const std::string& key) const { return entries_.at(key).value.size; }
  /// REQUIRES: has(key). Throws `corrupt` where it stands outside its file.
  [[nodiscard]] Bytes value(const std::string& key) const;
  /// The data file that a value outside of the leaves stands in; empty for others. REQUIRES: has(key).
  [[nodiscard]] const std::string& value_file(const std::string& key) const { return entries_.at(key).file; }
  /// The data files that nodes were read from, in order.
  [[nodiscard]] std::vector<std::string> node_files() const;

  /// The database's own commit: new leaves, new nodes up to the root, a new version. As data files are a log of nodes
  /// that are found by their places, the new ones go behind the old, so that no file comes and no path changes.
  /// `commit_time`: in nanoseconds since 1970.
  [[nodiscard]] OcdbtCommit commit(const std::vector<OcdbtChange>& changes, std::uint64_t commit_time) const;

 private:
  /// A node, and where the one above it (`parent`) says where it is.
  struct Node {
    OcdbtFile file;
    Span place;
    std::uint64_t height = 0;
    std::string prefix;  ///< of all its keys
    std::size_t parent = 0;
    Span offset_field, size_field, bytes_field;
    std::uint64_t tree_bytes = 0;
    Bytes body;
  };
  struct Entry {
    std::size_t node = 0;
    Span size_field;
    Span value;         ///< in the node's body, or in `file`
    std::string file;   ///< empty: the value is in the node
    Span offset_field;  ///< of one that is not
  };
  class Reader;

  std::string name_;
  std::shared_ptr<const SourceFolder> folder_;
  const OcdbtManifest& manifest_;
  std::vector<Node> nodes_;  ///< the root first; a node stands behind the one above it
  std::map<std::string, Entry> entries_;
};

}  // namespace tare

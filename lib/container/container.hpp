// An opened file of one format: its tree, and how that tree's nodes are written back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/node_change.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// What an edit does to one file of a container that spans several.
struct PartChange {
  std::size_t part = 0;  ///< as Container::parts counts
  FileChange change;
};

/// A class or function that the file names.
struct GlobalName {
  std::string module;
  std::string name;
  std::uint64_t offset = 0;  ///< of the opcode, in the pickle
  friend bool operator==(const GlobalName&, const GlobalName&) = default;
};

class Container;

/// A document in the file that its framework reads along with it; or a part that nobody can vouch for, because it was
/// not read, or leads out of the file.
struct InnerDocument {
  std::string inside;                          ///< where it stands, in the format's own words
  std::shared_ptr<const Source> source;        ///< what `container` is, or would be, opened from; null where not known
  std::shared_ptr<const Container> container;  ///< null where nothing is known of it
  std::string problem;                         ///< then: why
  bool is_former = false;                      ///< an edit left it behind: no loader takes it any more
};

class Container {
 public:
  virtual ~Container() = default;

  /// "torch_zip", "torch_legacy", "pickle" ...
  [[nodiscard]] virtual std::string_view format() const = 0;
  [[nodiscard]] virtual const Tree& tree() const = 0;
  [[nodiscard]] virtual const std::vector<Finding>& findings() const = 0;
  [[nodiscard]] virtual std::vector<GlobalName> globals() const { return {}; }
  /// Those that `tree` does not show: looked for when they are asked for. Bytes in the tree are not among them.
  [[nodiscard]] virtual std::vector<InnerDocument> inner_documents() const { return {}; }
  /// The bytes that make `changes` true: the values, their checksums, nothing else. Throws `refused` where a value
  /// cannot be written without touching another place, or cannot be represented; `corrupt` where what would be touched
  /// does not check out. Of a container that is one file; the others have change_parts, or are never changed.
  [[nodiscard]] virtual FileChange change(std::span<const NodeChange> changes) const;

  /// Whether a value can be put where there is none (NewDocument, NewEntries).
  [[nodiscard]] virtual bool can_add() const { return false; }

  /// The files of a container that spans several, by their names in its folder: first the one that it is opened by.
  /// Empty for a container that is one file.
  [[nodiscard]] virtual std::span<const std::string> parts() const { return {}; }
  /// The part that holds a node's bytes; 0 for a container that is one file.
  [[nodiscard]] virtual std::size_t part_of(NodeId) const { return 0; }
  /// As `change`, for containers of one file and of several alike; in the order in which the files should change.
  [[nodiscard]] virtual std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const {
    return {{0, change(changes)}};
  }
};

/// Opens `source` in the format that its bytes show. Throws `unsupported` for bytes of no known format, and `corrupt`
/// or `refused` for a known one that is broken or that its framework would not load.
std::unique_ptr<Container> open_container(const std::shared_ptr<const Source>& source);

}  // namespace tare

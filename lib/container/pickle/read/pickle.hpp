// A pickle read without running it: every opcode is followed as the loader would, calls and classes that are not plain
// data become opaque nodes. Protocols 0 to 5.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/finding.hpp"
#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Takes what a dict is filled with while it is read, so that the tree need not hold it.
class PairTaker {
 public:
  virtual ~PairTaker() = default;
  /// Keys and values in turns, which the dict `map` is about to have, which stands under the key `name` of another
  /// one. No key that is an object was handed out before. True: they were taken, and go out of the tree; `map` does not
  /// get them. Throws NeedsEveryOpcode where all has to be in the tree.
  virtual bool take(const Tree& tree, NodeId name, NodeId map, std::span<const NodeId> pairs) = 0;
  /// The pickle is read anew, and nobody is asked: what was taken stands in the tree.
  virtual void start_anew() = 0;
};

/// Thrown where a pickle refers to what was left unread: it has to be read by opcode then.
struct NeedsEveryOpcode {};

/// What a reader knows beforehand. The defaults: large checkpoints, which are tensors' names and places.
struct PickleHints {
  /// Bytes of pickle to a node, and slots for items to a node: room is made for so many. Wrong ones cost time alone.
  std::size_t bytes_a_node = 20;
  std::size_t slots_a_node = 4;
  /// Classes of objects that nobody will ask for: of most, only that they are there is read (an opaque node without
  /// arguments and state, one for all), and not whether a loader would take them.
  std::array<QualifiedName, 2> left_unread = {};
  /// Is asked for the dicts among the attributes of the outermost object.
  PairTaker* taker = nullptr;
};

struct Pickle {
  Tree tree;  ///< spans are offsets in the text
  std::vector<GlobalName> globals;
  std::vector<Finding> findings;
  std::uint8_t protocol = 0;
  std::uint64_t end = 0;          ///< one behind STOP, in the text
  std::vector<Span> hopped = {};  ///< what stands between opcodes and is none: elements of joblib's arrays
};

/// Reads the pickle that starts at `begin`. `source` names the file (and record) in messages. Throws `corrupt` where no
/// Python could load it, `refused` where it asks for more than lib/base/limits.hpp allows, or for more than is left of
/// `budget`: that of the file that it stands in; null: of the text alone.
Pickle read_pickle(std::shared_ptr<const Bytes> text, std::string_view source, std::uint64_t begin = 0,
                   const PickleHints& hints = {}, std::shared_ptr<Budget> budget = nullptr);

}  // namespace tare

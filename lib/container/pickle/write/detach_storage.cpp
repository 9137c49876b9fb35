#include "lib/container/pickle/write/detach_storage.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/tensor_pattern.hpp"
#include "lib/container/pickle/write/encode.hpp"

namespace tare {
namespace {

[[noreturn]] void refuse() {
  throw Error(Status::refused, "the tensor shares its storage with others, and its description is shared as well",
              "changing it here would change them: separate them in the framework first");
}

/// Each TUPLE of a pickle, and the mark that it takes its items from.
std::vector<std::pair<std::uint64_t, std::uint64_t>> marks_of_tuples(ByteView text, std::uint64_t begin,
                                                                     std::uint64_t end) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  std::vector<std::uint64_t> marks;
  PickleScanner scanner(text, "", begin);
  while (scanner.position() < end) {
    const PickleOp op = scanner.next();
    switch (op.code) {
      case Opcode::mark:
        marks.push_back(op.begin);
        break;
      case Opcode::tuple:
      case Opcode::list:
      case Opcode::dict:
      case Opcode::appends:
      case Opcode::setitems:
      case Opcode::additems:
      case Opcode::frozenset:
      case Opcode::pop_mark:
      case Opcode::inst:
      case Opcode::obj:
        if (marks.empty()) refuse();
        if (op.code == Opcode::tuple) found.emplace_back(op.begin, marks.back());
        marks.pop_back();
        break;
      default:
        break;
    }
  }
  return found;
}

/// The opcodes of the key and the number of elements in ("storage", class, key, device, count), and whether the key
/// goes into the memo.
struct StorageId {
  PickleOp key, count;
  std::optional<PickleOp> put;
};

StorageId storage_id(ByteView text, Span range) {
  enum Place : std::size_t { word, type, key, device, count, places };
  std::array<PickleOp, places> ops{};
  std::optional<PickleOp> put;
  PickleScanner scanner(text, "", range.offset);
  scanner.next();  // the mark
  for (std::size_t place = word; place < places;) {
    const PickleOp op = scanner.next();
    if (memoizes(op.code)) {
      if (place == key + 1) put = op;
      continue;
    }
    if (op.code == Opcode::stack_global || op.end() >= range.end()) refuse();
    ops[place++] = op;
  }
  return {ops[key], ops[count], put};
}

Bytes unicode(std::string_view text) {
  Bytes bytes{static_cast<std::byte>(Opcode::binunicode)};
  append_le(bytes, static_cast<std::uint32_t>(text.size()));
  const ByteView view = as_bytes(text);
  std::copy(view.begin(), view.end(), std::back_inserter(bytes));
  return bytes;
}

}  // namespace

std::uint64_t StorageDetacher::mark_of(std::uint64_t tuple) {
  const Tree& tree = pickle_.tree;
  if (marks_.empty()) {
    tree.take_steps(pickle_.end - begin_);
    marks_ = marks_of_tuples(tree.bytes(), begin_, pickle_.end);
  }
  const auto at = std::lower_bound(marks_.begin(), marks_.end(), std::pair{tuple, std::uint64_t{0}});
  if (at == marks_.end() || at->first != tuple) refuse();
  return at->second;
}

StorageDetacher::Description StorageDetacher::description_of(NodeId tensor) {
  const Tree& tree = pickle_.tree;
  if (tree.arguments(tensor) == nowhere) {
    const auto parts = tree.parts(tensor);
    const auto pattern = read_tensor_pattern(tree.bytes(), tree.span(tensor).offset);
    return {pattern->storage_id, pattern->offset_op, parts[unread_part::storage_class]};
  }
  const auto arguments = tree.items(tree.arguments(tensor));
  const NodeId id = tree.arguments(arguments[0]);
  const Span tuple = tree.span(id);
  if (tuple.size != 1 || tree.bytes()[tuple.offset] != static_cast<std::byte>(Opcode::tuple)) refuse();
  const std::uint64_t mark = mark_of(tuple.offset);
  return {{mark, tuple.end() - mark}, tree.span(arguments[1]), tree.items(id)[1]};
}

/// Nobody else may fetch the key that is about to become another.
void StorageDetacher::require_unfetched(const PickleOp& put) const {
  const auto& unfetched = layout_.unfetched;  // in the pickle's order
  const auto at = std::lower_bound(unfetched.begin(), unfetched.end(), put.begin,
                                   [](const PickleLayout::Put& one, std::uint64_t to) { return one.op.begin < to; });
  if (at == unfetched.end() || at->op.begin != put.begin) refuse();
}

std::vector<Replacement> StorageDetacher::detach(NodeId tensor, std::string_view key, std::uint64_t size) {
  const Tree& tree = pickle_.tree;
  const Description old = description_of(tensor);
  const StorageId id = storage_id(tree.bytes(), old.storage_id);
  if (id.put) require_unfetched(*id.put);

  // An untyped storage counts bytes.
  const bool is_untyped = tree.qualified_name(old.type).name == "UntypedStorage";
  const std::uint64_t count = is_untyped ? size : size / tree.tensor(tensor).type.size;
  const Integer elements{static_cast<std::int64_t>(count), {}};
  std::vector<Replacement> changes{{id.key.span(), unicode(key)}, {id.count.span(), encode_like(id.count, elements)}};
  if (tree.tensor(tensor).offset != 0) {
    PickleScanner scanner(tree.bytes(), "", old.offset_op.offset);
    changes.push_back({old.offset_op, encode_like(scanner.next(), Integer{0, {}})});
  }
  return changes;
}

}  // namespace tare

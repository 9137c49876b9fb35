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

/// Where the mark stands that the opcode at `offset` takes its items from.
std::uint64_t mark_before(ByteView text, std::uint64_t begin, std::uint64_t offset) {
  std::vector<std::uint64_t> marks;
  PickleScanner scanner(text, "", begin);
  for (;;) {
    const PickleOp op = scanner.next();
    if (op.begin >= offset) break;
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
        marks.pop_back();
        break;
      default:
        break;
    }
  }
  if (marks.empty()) refuse();
  return marks.back();
}

bool is_put(Opcode code) {
  return code == Opcode::put || code == Opcode::binput || code == Opcode::long_binput || code == Opcode::memoize;
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
    if (is_put(op.code)) {
      if (place == key + 1) put = op;
      continue;
    }
    if (op.code == Opcode::stack_global || op.end() >= range.end()) refuse();
    ops[place++] = op;
  }
  return {ops[key], ops[count], put};
}

/// Nobody else may fetch the key that is about to become another.
void require_unfetched(const PickleLayout& layout, const PickleOp& put) {
  const bool is_unfetched = std::any_of(layout.unfetched.begin(), layout.unfetched.end(),
                                        [&](const PickleLayout::Put& other) { return other.op.begin == put.begin; });
  if (!is_unfetched) refuse();
}

Bytes unicode(std::string_view text) {
  Bytes bytes{static_cast<std::byte>(Opcode::binunicode)};
  append_le(bytes, static_cast<std::uint32_t>(text.size()));
  const ByteView view = as_bytes(text);
  std::copy(view.begin(), view.end(), std::back_inserter(bytes));
  return bytes;
}

/// Where a tensor's storage is named and its offset is written, and the node of the storage's class.
struct Description {
  Span storage_id;
  Span offset_op;
  NodeId type;
};

Description description_of(const Pickle& pickle, std::uint64_t begin, NodeId tensor) {
  const Tree& tree = pickle.tree;
  if (tree.arguments(tensor) == nowhere) {
    const auto parts = tree.parts(tensor);
    const auto pattern = read_tensor_pattern(tree.bytes(), tree.span(tensor).offset);
    return {pattern->storage_id, pattern->offset_op, parts[unread_part::storage_class]};
  }
  const auto arguments = tree.items(tree.arguments(tensor));
  const NodeId id = tree.arguments(arguments[0]);
  const Span tuple = tree.span(id);
  if (tuple.size != 1 || tree.bytes()[tuple.offset] != static_cast<std::byte>(Opcode::tuple)) refuse();
  const std::uint64_t mark = mark_before(tree.bytes(), begin, tuple.offset);
  return {{mark, tuple.end() - mark}, tree.span(arguments[1]), tree.items(id)[1]};
}

}  // namespace

std::vector<Replacement> detach_storage(const Pickle& pickle, std::uint64_t begin, NodeId tensor, std::string_view key,
                                        std::uint64_t size) {
  const Tree& tree = pickle.tree;
  const Description old = description_of(pickle, begin, tensor);
  const StorageId id = storage_id(tree.bytes(), old.storage_id);
  if (id.put) require_unfetched(survey_pickle(tree.bytes(), begin, pickle.end), *id.put);

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

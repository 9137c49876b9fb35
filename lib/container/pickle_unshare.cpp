#include "lib/container/pickle_unshare.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/container/pickle_encode.hpp"
#include "lib/container/pickle_recipe.hpp"

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

/// Nothing that is put into the memo in `range` may be fetched anywhere.
void require_self_contained(const PickleLayout& layout, ByteView text, Span range) {
  PickleScanner scanner(text, "", range.offset);
  while (scanner.position() < range.end()) {
    const PickleOp op = scanner.next();
    const bool puts = op.code == Opcode::put || op.code == Opcode::binput || op.code == Opcode::long_binput;
    const bool is_unfetched = std::any_of(layout.unfetched.begin(), layout.unfetched.end(),
                                          [&](const PickleLayout::Put& put) { return put.op.begin == op.begin; });
    if (op.code == Opcode::memoize || (puts && !is_unfetched)) refuse();
  }
}

void append_text(Bytes& to, std::string_view text) {
  const ByteView bytes = as_bytes(text);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_unicode(Bytes& to, std::string_view text) {
  to.push_back(static_cast<std::byte>(Opcode::binunicode));
  append_le(to, static_cast<std::uint32_t>(text.size()));
  append_text(to, text);
}

/// ("storage", class, key, device, 1 element), without the memo.
Bytes storage_id(QualifiedName type, std::string_view key, std::string_view device, std::uint8_t count) {
  Bytes id{static_cast<std::byte>(Opcode::mark)};
  append_unicode(id, "storage");
  id.push_back(static_cast<std::byte>(Opcode::global));
  append_text(id, type.module);
  append_text(id, "\n");
  append_text(id, type.name);
  append_text(id, "\n");
  append_unicode(id, key);
  append_unicode(id, device);
  id.push_back(static_cast<std::byte>(Opcode::binint1));
  id.push_back(static_cast<std::byte>(count));
  id.push_back(static_cast<std::byte>(Opcode::tuple));
  return id;
}

}  // namespace

namespace {

/// Where a tensor's storage is named and its offset is written, and the nodes of the storage's class and device.
struct Description {
  Span storage_id;
  Span offset_op;
  NodeId type, device;
};

Description description_of(const Pickle& pickle, std::uint64_t begin, NodeId tensor) {
  const Tree& tree = pickle.tree;
  if (tree.arguments(tensor) == nowhere) {
    const auto parts = tree.parts(tensor);
    const auto recipe = read_recipe(tree.bytes(), tree.span(tensor).offset);
    return {recipe->storage_id, recipe->offset_op, parts[unread_part::storage_class], parts[unread_part::device]};
  }
  const auto arguments = tree.items(tree.arguments(tensor));
  const NodeId id = tree.arguments(arguments[0]);
  const Span tuple = tree.span(id);
  if (tuple.size != 1 || tree.bytes()[tuple.offset] != static_cast<std::byte>(Opcode::tuple)) refuse();
  const std::uint64_t mark = mark_before(tree.bytes(), begin, tuple.offset);
  return {{mark, tuple.end() - mark}, tree.span(arguments[1]), tree.items(id)[1], tree.items(id)[3]};
}

}  // namespace

std::vector<Replacement> own_storage(const Pickle& pickle, std::uint64_t begin, NodeId tensor, std::string_view key) {
  const Tree& tree = pickle.tree;
  const Description old = description_of(pickle, begin, tensor);
  require_self_contained(survey_pickle(tree.bytes(), begin, pickle.end), tree.bytes(), old.storage_id);

  // An untyped storage counts bytes.
  const QualifiedName type = tree.qualified_name(old.type);
  const auto count = static_cast<std::uint8_t>(type.name == "UntypedStorage" ? tree.tensor(tensor).type.size : 1);
  std::vector<Replacement> changes{{old.storage_id, storage_id(type, key, tree.text(old.device), count)}};
  if (tree.tensor(tensor).offset != 0) {
    PickleScanner scanner(tree.bytes(), "", old.offset_op.offset);
    changes.push_back({old.offset_op, encode_like(scanner.next(), Integer{0, {}})});
  }
  return changes;
}

}  // namespace tare

// Opcodes that name, call and instantiate. What is known to be plain data (dicts, tensors, arrays) becomes that; all
// else becomes an opaque node that keeps its callee, arguments, state and items.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/container/numpy_type.hpp"
#include "lib/container/pickle/read/machine.hpp"
#include "lib/container/stored_tensors.hpp"

namespace tare {

NodeId PickleMachine::add_name(const PickleOp& op, NodeId id) {
  const QualifiedName name = tree_.qualified_name(id);
  const Callee callee = callee_of(name.module, name.name);
  tree_.edit(id).detail = static_cast<std::uint16_t>(callee);
  if (callee == Callee::tensor) tensor_function_ = id;
  const auto known = std::ranges::find(left_unread_, name);
  if (known != left_unread_.end()) unread_types_[static_cast<std::size_t>(known - left_unread_.begin())] = id;
  const std::size_t length = name.module.size() + name.name.size();
  tree_.take_steps(length);
  if (named_.insert(fmt::format("{}\n{}", name.module, name.name)).second) {
    constexpr std::size_t bytes_a_name = 512;  // here, in the answer and in what it is judged by
    tree_.take_memory(bytes_a_name + 3 * length);
    result_.globals.push_back({std::string(name.module), std::string(name.name), op.begin});
  }
  return id;
}

void PickleMachine::global(const PickleOp& op) {
  add_scalar(op, Kind::name,
             {static_cast<std::uint32_t>(op.begin + 1), static_cast<std::uint32_t>(op.argument.size())});
  add_name(op, top(op));
}

void PickleMachine::stack_global(const PickleOp& op) {
  const NodeId name = take(op);
  const NodeId module = take(op);
  if (tree_.kind(name) != Kind::string || tree_.kind(module) != Kind::string) fail(op, "a class name that is no text");
  push(add_name(op, add_items(Kind::name, std::array{module, name}, op.span())));
}

NodeId PickleMachine::add_call(const PickleOp& op, Kind kind, NodeId callee, NodeId arguments) {
  return add_items(kind, std::array{callee, arguments, nowhere, nowhere}, op.span());
}

/// A copy: the item store may move while it is read.
std::vector<NodeId> PickleMachine::items_of(NodeId id) const {
  const auto items = tree_.items(id);
  tree_.take_steps(items.size());
  tree_.take_memory(items.size() * sizeof(NodeId));
  return {items.begin(), items.end()};
}

NodeId PickleMachine::argument(NodeId arguments, std::size_t index) const {
  const auto items = tree_.items(arguments);
  return index < items.size() ? items[index] : nowhere;
}

/// dict(), OrderedDict(pairs), defaultdict(factory, map) ...
NodeId PickleMachine::as_map(const PickleOp& op, NodeId arguments) {
  const NodeId map = add_items(Kind::map, {}, op.span());
  for (const NodeId from : items_of(arguments)) {
    const auto items = items_of(from);
    if (tree_.kind(from) == Kind::map) {
      assign(op, map, items);
    } else if (tree_.kind(from) == Kind::list) {
      for (const NodeId pair : items) {
        const auto both = items_of(pair);
        if (both.size() != 2) fail(op, "a dict of what are no pairs");
        assign(op, map, both);
      }
    }
  }
  return map;
}

NodeId PickleMachine::as_sequence(const PickleOp& op, Kind kind, NodeId arguments) {
  const NodeId from = argument(arguments, 0);
  const std::vector<NodeId> items = from == nowhere ? std::vector<NodeId>() : items_of(from);
  return add_items(kind, items, op.span());
}

/// As Python's own pickles spell it.
bool PickleMachine::is_latin_1(NodeId encoding) const {
  return tree_.kind(encoding) == Kind::string &&
         (tree_.text(encoding) == "latin1" || tree_.text(encoding) == "latin-1");
}

/// Text that stands for bytes: each character is one byte (latin-1). Its span is that of the text, which an edit
/// writes. Any other encoding makes other bytes, or packs them: such a call stays opaque.
NodeId PickleMachine::as_bytes_of(const PickleOp& op, NodeId callee, NodeId arguments) {
  const NodeId from = argument(arguments, 0);
  if (from == nowhere) return tree_.add_side_text(Kind::bytes, {}, op.span());
  const std::size_t count = tree_.items(arguments).size();
  if (tree_.kind(from) == Kind::bytes && count == 1) return from;
  if (tree_.kind(from) != Kind::string || (count > 1 && !is_latin_1(argument(arguments, 1)))) {
    return add_call(op, Kind::opaque, callee, arguments);
  }
  const std::string_view text = tree_.text(from);
  tree_.take_steps(text.size());
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < text.size()) {
      bytes += static_cast<char>((lead & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
    } else {
      return add_call(op, Kind::opaque, callee, arguments);  // a character that is no latin-1 byte
    }
  }
  return tree_.add_side_text(Kind::bytes, bytes, tree_.span(from));
}

/// A tensor may have attributes as any object has: they stand where an object's state does.
NodeId PickleMachine::with_attributes(NodeId made, NodeId state) {
  const bool can_have = tree_.kind(made) == Kind::opaque || tree_.kind(made) == Kind::tensor;
  if (!can_have || state == nowhere || tree_.state(made) != nowhere) return made;
  watch_filled(made);
  tree_.replace_item(made, 2, state);
  return made;
}

NodeId PickleMachine::as_tensor(const PickleOp& op, NodeId callee, NodeId arguments) {
  // _rebuild_from_type_v2(function, type, arguments, state): a tensor where the function makes one.
  if (tree_[callee].detail == static_cast<std::uint16_t>(Callee::tensor_subclass)) {
    const NodeId function = argument(arguments, 0);
    const NodeId inner = argument(arguments, 2);
    // One that is made of another of its kind is none of torch's: no call goes deeper than this one.
    const bool is_plain = function != nowhere && tree_.kind(function) == Kind::name &&
                          tree_[function].detail != static_cast<std::uint16_t>(Callee::tensor_subclass);
    if (!is_plain || inner == nowhere) {
      return add_call(op, Kind::opaque, callee, arguments);
    }
    const NodeId made = called(op, function, inner);
    const NodeId state = argument(arguments, 3);
    return with_attributes(made, state);
  }
  const NodeId tensor = add_call(op, Kind::tensor, callee, arguments);
  tree_.edit(tensor).detail = tree_[callee].detail;
  return tensor;
}

/// eval('data', {'data': array}) is that array, as a tensor: nothing is evaluated. Other calls of eval stay opaque.
NodeId PickleMachine::as_paddle_tensor(const PickleOp& op, NodeId callee, NodeId arguments) {
  const NodeId expression = argument(arguments, 0);
  const NodeId names = argument(arguments, 1);
  constexpr std::string_view word = "data";
  const bool fits = tree_.items(arguments).size() == 2 && tree_.kind(expression) == Kind::string &&
                    tree_.text(expression) == word && tree_.kind(names) == Kind::map && tree_.items(names).size() == 2;
  const NodeId array = fits ? tree_.find(names, word) : nowhere;
  if (array == nowhere || tree_.kind(array) != Kind::array ||
      tree_[array].detail != static_cast<std::uint16_t>(Callee::numpy_array)) {
    return add_call(op, Kind::opaque, callee, arguments);
  }
  const NodeId tensor = add_call(op, Kind::array, callee, array);
  tree_.edit(tensor).detail = static_cast<std::uint16_t>(Callee::paddle_tensor);
  return tensor;
}

NodeId PickleMachine::called(const PickleOp& op, NodeId callee, NodeId arguments) {
  const auto known = tree_.kind(callee) == Kind::name ? static_cast<Callee>(tree_[callee].detail) : Callee::unknown;
  switch (known) {
    case Callee::dictionary:
      return as_map(op, arguments);
    case Callee::set:
      return as_sequence(op, Kind::set, arguments);
    case Callee::list:
      return as_sequence(op, Kind::list, arguments);
    case Callee::tuple:
      return as_sequence(op, Kind::tuple, arguments);
    case Callee::byte_array:
    case Callee::codecs_encode:
      return as_bytes_of(op, callee, arguments);
    case Callee::tensor:
    case Callee::tensor_v3:
    case Callee::tensor_subclass:
      return as_tensor(op, callee, arguments);
    case Callee::parameter: {
      const NodeId data = argument(arguments, 0);
      return data == nowhere ? add_call(op, Kind::opaque, callee, arguments)
                             : with_attributes(data, argument(arguments, 3));
    }
    case Callee::numpy_scalar:
    case Callee::numpy_array:
    case Callee::numpy_buffer: {
      const NodeId array = add_call(op, Kind::array, callee, arguments);
      tree_.edit(array).detail = static_cast<std::uint16_t>(known);
      return array;
    }
    case Callee::paddle_tensor:
      return as_paddle_tensor(op, callee, arguments);
    case Callee::reconstructor: {
      const NodeId type = argument(arguments, 0);
      if (type != nowhere && tree_.kind(type) == Kind::name) return add_call(op, Kind::opaque, type, arguments);
      break;
    }
    case Callee::jax_array:
      return as_jax_array(op, callee, arguments);
    case Callee::joblib_array:
    case Callee::numpy_dtype:
    case Callee::storage_stream:
    case Callee::unknown:
      break;
  }
  return add_call(op, Kind::opaque, callee, arguments);
}

/// (numpy's _reconstruct, its arguments, the state that it would be given, what jax adds).
NodeId PickleMachine::as_jax_array(const PickleOp& op, NodeId callee, NodeId arguments) {
  const NodeId function = argument(arguments, 0);
  const NodeId inner = argument(arguments, 1);
  const NodeId state = argument(arguments, 2);
  const bool is_numpy = state != nowhere && tree_.kind(function) == Kind::name &&
                        tree_[function].detail == static_cast<std::uint16_t>(Callee::numpy_array);
  if (!is_numpy) return add_call(op, Kind::opaque, callee, arguments);
  const NodeId array = called(op, function, inner);
  tree_.replace_item(array, 2, state);
  return array;
}

/// joblib writes an array's elements between opcodes: a byte that says how much padding follows it (newer releases),
/// padding, elements. Source: joblib/numpy_pickle.py, NumpyArrayWrapper.write_array.
void PickleMachine::hop_over_joblib_array(const PickleOp& op, NodeId wrapper) {
  const NodeId fields = tree_.state(wrapper);
  const NodeId dtype = tree_.find(fields, "dtype");
  const NodeId code = argument(tree_.arguments(dtype), 0);
  if (code != nowhere && tree_.kind(code) == Kind::string && tree_.text(code).starts_with("O")) {
    throw Error(Status::unsupported,
                fmt::format("{}: pickle at offset {}: a joblib array of Python objects follows, which is not read",
                            source_, op.begin),
                "save the scaler in a file of its own");
  }
  Tensor array;
  array.type = code != nowhere && tree_.kind(code) == Kind::string ? numpy_type(tree_.text(code)) : ElementType{};
  for (const NodeId size : tree_.items(tree_.find(fields, "shape"))) {
    array.shape.push_back(tree_.kind(size) == Kind::integer ? tree_[size].as.integer : -1);
  }
  const auto size = stored_size(array);
  if (!size) fail(op, "is followed by a joblib array of no size that makes sense");
  const std::uint64_t begin = scanner_.position();
  std::uint64_t from = begin;
  const NodeId alignment = tree_.find(fields, "numpy_array_alignment_bytes");
  if (alignment != nowhere && tree_.kind(alignment) == Kind::integer) {
    if (from == text_->size()) fail(op, "is followed by nothing");
    from += 1 + std::to_integer<std::uint64_t>((*text_)[from]);
  }
  if (from > text_->size() || *size > text_->size() - from) fail(op, "is followed by fewer bytes than its array has");
  result_.hopped.push_back({begin, from + *size - begin});
  scanner_.go_to(from + *size);
}

void PickleMachine::reduce(const PickleOp& op) {
  const NodeId arguments = take(op);
  const NodeId callee = take(op);
  if (tree_.kind(arguments) != Kind::tuple) fail(op, "a call whose arguments are no tuple");
  push(called(op, callee, arguments));
}

void PickleMachine::new_object(const PickleOp& op) {
  const NodeId arguments = take(op);
  const NodeId type = take(op);
  const bool is_map =
      tree_.kind(type) == Kind::name && tree_[type].detail == static_cast<std::uint16_t>(Callee::dictionary);
  push(is_map ? as_map(op, arguments) : add_call(op, Kind::opaque, type, arguments));
}

void PickleMachine::new_object_keywords(const PickleOp& op) {
  const NodeId keywords = take(op);
  const NodeId arguments = take(op);
  const NodeId type = take(op);
  const NodeId both = add_items(Kind::tuple, std::array{arguments, keywords}, op.span());
  push(add_call(op, Kind::opaque, type, both));
}

void PickleMachine::inst(const PickleOp& op) {
  const auto taken = take_marked(op);
  const std::vector<NodeId> marked(taken.begin(), taken.end());
  add_scalar(op, Kind::name,
             {static_cast<std::uint32_t>(op.begin + 1), static_cast<std::uint32_t>(op.argument.size())});
  const NodeId type = add_name(op, take(op));
  push(called(op, type, add_items(Kind::tuple, marked, op.span())));
}

void PickleMachine::obj(const PickleOp& op) {
  const auto marked = take_marked(op);
  if (marked.empty()) fail(op, "an instance of nothing");
  const NodeId type = marked.front();
  push(called(op, type, add_items(Kind::tuple, marked.subspan(1), op.span())));
}

void PickleMachine::build(const PickleOp& op) {
  const NodeId state = take(op);
  const NodeId target = top(op);
  watch_filled(target);
  switch (tree_.kind(target)) {
    case Kind::array:
    case Kind::opaque:
      break;
    case Kind::map:
    case Kind::tensor:
      return;  // attributes of a dict (a state_dict's _metadata) or a parameter: nothing that a scaler keeps
    default:
      fail(op, "gives a state to what has none");
  }
  const NodeId before = tree_.state(target);
  const NodeId type = tree_.kind(target) == Kind::opaque ? tree_.callee(target) : nowhere;
  const bool is_joblib = type != nowhere && tree_.kind(type) == Kind::name &&
                         tree_[type].detail == static_cast<std::uint16_t>(Callee::joblib_array);
  const bool merges = before != nowhere && tree_.kind(before) == Kind::map && tree_.kind(state) == Kind::map;
  if (!merges) {
    if (before != nowhere) note_once("state-again", "gives an object its state twice: the first one is not shown");
    tree_.replace_item(target, 2, state);
    if (is_joblib) hop_over_joblib_array(op, target);
    return;
  }
  // A second BUILD updates the attributes; the first's dict may be known elsewhere and stays as it is.
  const NodeId merged = add_items(Kind::map, {}, op.span());
  for (const NodeId part : {before, state}) {
    assign(op, merged, items_of(part));
  }
  tree_.replace_item(target, 2, merged);
}

void PickleMachine::persistent_id(const PickleOp& op) {
  const NodeId id = take(op);
  // A legacy file's ("module", class, source file, source) is the class itself.
  const NodeId what = argument(id, 0);
  if (what != nowhere && tree_.kind(what) == Kind::string && tree_.text(what) == "module") {
    const NodeId type = argument(id, 1);
    if (type != nowhere) {
      push(type);
      return;
    }
  }
  const bool is_storage = what != nowhere && tree_.kind(what) == Kind::string && tree_.text(what) == "storage";
  if (!is_storage) note_once("persistent-id", "has a persistent id that is no tensor storage: kept as opaque");
  push(add_call(op, Kind::opaque, nowhere, id));
}

void PickleMachine::persistent_line(const PickleOp& op) {
  string8(op);
  push(add_call(op, Kind::opaque, nowhere, take(op)));
}

}  // namespace tare

// The stack machine behind read_pickle: one handler an opcode, no recursion, mutation as the loader does it, so that a
// key that is set twice ends with the span of its last value.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/base/keyed_hash.hpp"
#include "lib/container/pickle/read/global.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/read/tensor_pattern.hpp"

namespace tare {

/// How tensors are read.
enum class TensorReading : std::uint8_t {
  whole,      ///< one that is written as tensor_pattern.hpp says becomes a node whose parts are left unread; so do
              ///< objects of the class that PickleHints names, as skip_object.hpp says
  by_opcode,  ///< every opcode is followed
};

class PickleMachine {
 public:
  PickleMachine(std::shared_ptr<const Bytes> text, std::string_view source, std::uint64_t begin, TensorReading reading,
                const PickleHints& hints = {}, std::shared_ptr<Budget> budget = nullptr);
  Pickle run();

  // ---- handlers, public for the opcode table
  void mark(const PickleOp&);
  void pop(const PickleOp&);
  void pop_mark(const PickleOp&);
  void dup(const PickleOp&);
  void proto(const PickleOp&);
  void frame(const PickleOp&);
  void ignore(const PickleOp&) {}
  void refuse(const PickleOp&);
  // memo (machine.cpp)
  void get_near(const PickleOp&);
  void get_far(const PickleOp&);
  void get_line(const PickleOp&);
  void put_near(const PickleOp&);
  void put_far(const PickleOp&);
  void put_line(const PickleOp&);
  void memoize(const PickleOp&);
  // scalars and text (scalar.cpp)
  void none(const PickleOp&);
  void boolean(const PickleOp&);
  void small_integer(const PickleOp&);
  void long_integer(const PickleOp&);
  void integer_text(const PickleOp&);
  void binary_float(const PickleOp&);
  void float_line(const PickleOp&);
  void unicode(const PickleOp&);
  void byte_string(const PickleOp&);
  void string8(const PickleOp&);
  void string_line(const PickleOp&);
  void unicode_line(const PickleOp&);
  // containers (collection.cpp)
  void empty_list(const PickleOp&);
  void empty_dict(const PickleOp&);
  void empty_set(const PickleOp&);
  void empty_tuple(const PickleOp&);
  void tuple_of(const PickleOp&);
  void tuple_from_mark(const PickleOp&);
  void list_from_mark(const PickleOp&);
  void dict_from_mark(const PickleOp&);
  void set_from_mark(const PickleOp&);
  void append(const PickleOp&);
  void appends(const PickleOp&);
  void set_item(const PickleOp&);
  void set_items(const PickleOp&);
  void add_to_set(const PickleOp&);
  // names and calls (call.cpp)
  void global(const PickleOp&);
  void stack_global(const PickleOp&);
  void reduce(const PickleOp&);
  void new_object(const PickleOp&);
  void new_object_keywords(const PickleOp&);
  void inst(const PickleOp&);
  void obj(const PickleOp&);
  void build(const PickleOp&);
  void persistent_id(const PickleOp&);
  void persistent_line(const PickleOp&);

 private:
  /// What a slot holds that a part of what was left unread was stored in.
  static constexpr NodeId unread = nowhere - 1;

  [[noreturn]] void fail(const PickleOp& op, std::string_view problem) const { scanner_.fail(op.begin, problem); }
  void push(NodeId id) {
    make_room(stack_);
    stack_.push_back(id);
  }
  /// Takes what a vector is about to grow by from the budget.
  template <typename T>
  void make_room(const std::vector<T>& vector) const {
    if (vector.size() == vector.capacity()) tree_.take_memory((vector.size() + 1) * sizeof(T));
  }
  void grow_memo(std::uint64_t size);
  NodeId take(const PickleOp& op);  ///< pops; never past the last mark
  [[nodiscard]] NodeId top(const PickleOp& op) const;
  /// What stands above the last mark, which goes with it. Valid until the next call.
  std::span<const NodeId> take_marked(const PickleOp& op);
  void add_scalar(const PickleOp& op, Kind kind, Node::Run run);
  void extend(const PickleOp& op, NodeId target, std::span<const NodeId> items);
  void assign(const PickleOp& op, NodeId target, std::span<const NodeId> pairs);
  void require_hashable(const PickleOp& op, NodeId key) const;
  NodeId add_name(const PickleOp& op, NodeId id);
  NodeId add_call(const PickleOp& op, Kind kind, NodeId callee, NodeId arguments);
  NodeId called(const PickleOp& op, NodeId callee, NodeId arguments);
  NodeId as_map(const PickleOp& op, NodeId arguments);
  NodeId as_sequence(const PickleOp& op, Kind kind, NodeId arguments);
  [[nodiscard]] bool is_latin_1(NodeId encoding) const;
  NodeId as_bytes_of(const PickleOp& op, NodeId callee, NodeId arguments);
  NodeId with_attributes(NodeId made, NodeId state);
  NodeId as_tensor(const PickleOp& op, NodeId callee, NodeId arguments);
  NodeId as_paddle_tensor(const PickleOp& op, NodeId callee, NodeId arguments);
  NodeId as_jax_array(const PickleOp& op, NodeId callee, NodeId arguments);
  void hop_over_joblib_array(const PickleOp& op, NodeId wrapper);
  [[nodiscard]] std::vector<NodeId> items_of(NodeId id) const;
  [[nodiscard]] NodeId argument(NodeId arguments, std::size_t index) const;
  /// Pushes what a slot holds; where that is torch's function for tensors, perhaps the whole tensor that follows.
  void fetch(const PickleOp& op, std::uint64_t index);
  bool take_whole_tensor(const PickleOp& op, NodeId function);
  bool step_over_object(const PickleOp& op, std::size_t unread_class);
  void leave_unread(std::uint64_t count);
  NodeId add(const Node& node) { return taker_ == nullptr ? tree_.add(node) : add_new(node); }
  NodeId add_items(Kind kind, std::span<const NodeId> items, Span span) {
    return taker_ == nullptr ? tree_.add_items(kind, items, span) : add_new_items(kind, items, span);
  }
  // pairs that somebody takes (take_pairs.cpp)
  NodeId add_new(const Node& node);
  NodeId add_new_items(Kind kind, std::span<const NodeId> items, Span span);
  void note_new(NodeId id);
  void begin_pairs();
  bool hand_out(const PickleOp& op, std::span<const NodeId> pairs);
  [[nodiscard]] bool are_new_objects(std::span<const NodeId> pairs) const;
  void forget_pairs();
  /// `target` is about to refer to something that may be newer.
  void watch_filled(NodeId target) {
    if (std::ranges::find(unread_objects_, target) != unread_objects_.end()) throw NeedsEveryOpcode();
    if (taker_ != nullptr) fills_older_ = fills_older_ || !is_new(target);
  }
  [[nodiscard]] bool is_new(NodeId id) const { return id < is_new_.size() && is_new_[id]; }
  bool is_plain(const TensorPattern& pattern);
  [[nodiscard]] NodeId slot(std::uint32_t index) const { return index < memo_.size() ? memo_[index] : nowhere; }
  void store(const PickleOp& op, std::uint64_t index);
  void remember(std::uint64_t index, NodeId id);
  void remember_beyond(std::uint64_t index, NodeId id);
  [[nodiscard]] NodeId recall(const PickleOp& op, std::uint64_t index) const;
  /// Adds a warning, unless one of that code is there.
  void note_once(std::string_view code, std::string message);

  std::shared_ptr<const Bytes> text_;
  std::string source_;
  PickleScanner scanner_;
  Pickle result_;
  Tree& tree_ = result_.tree;
  std::vector<NodeId> stack_;
  std::vector<std::uint32_t> marks_;
  std::vector<NodeId> taken_;
  std::vector<NodeId> memo_;
  std::unordered_set<std::string, KeyedHash> named_;    ///< "module\nname" of every name in the result
  std::unordered_map<std::uint64_t, NodeId> far_memo_;  ///< indices that no pickler gives: one entry each, no room
  TensorReading reading_;
  std::array<QualifiedName, 2> left_unread_;
  std::array<NodeId, 2> unread_types_{nowhere, nowhere};    ///< the name nodes of these classes
  std::array<NodeId, 2> unread_objects_{nowhere, nowhere};  ///< each stands for all of a class
  PairTaker* taker_;
  std::vector<NodeId> new_;   ///< nodes made since the last mark that pairs of a dict may stand behind, as they came
  std::vector<bool> is_new_;  ///< by node
  bool fills_older_ = false;  ///< an older node was given something since
  std::uint64_t slots_before_pairs_ = 0;        ///< of the memo
  std::array<std::vector<NodeId>, 8> spare_{};  ///< nodes that nothing refers to any more, by what they can become
  NodeId tensor_function_ = nowhere;            ///< the last name node of torch's function for tensors
  /// What the last whole tensor fetched its storage's word, class and device and its hooks from.
  std::array<std::uint32_t, 4> plain_slots_{TensorPattern::no_slot};
  std::uint64_t memo_size_ = 0;  ///< entries set, which MEMOIZE counts on
};

/// What can only be told once all is read: keys that are set twice end as the loader leaves them; nesting and sharing
/// that would undo a reader which recurses or expands are reported.
void finish_pickle(Pickle& pickle);

}  // namespace tare

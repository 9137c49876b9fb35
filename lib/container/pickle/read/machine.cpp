#include "lib/container/pickle/read/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/pickle/read/skip_object.hpp"

namespace tare {
namespace {

using Handler = void (PickleMachine::*)(const PickleOp&);

struct OpcodeHandler {
  std::string_view opcodes;
  Handler handler;
};

constexpr OpcodeHandler handlers[] = {
    {"(", &PickleMachine::mark},
    {"0", &PickleMachine::pop},
    {"1", &PickleMachine::pop_mark},
    {"2", &PickleMachine::dup},
    {"\x80", &PickleMachine::proto},
    {"\x95", &PickleMachine::frame},
    {"\x82\x83\x84\x97\x98", &PickleMachine::refuse},
    {"h", &PickleMachine::get_near},
    {"j", &PickleMachine::get_far},
    {"g", &PickleMachine::get_line},
    {"q", &PickleMachine::put_near},
    {"r", &PickleMachine::put_far},
    {"p", &PickleMachine::put_line},
    {"\x94", &PickleMachine::memoize},
    {"N", &PickleMachine::none},
    {"\x88\x89", &PickleMachine::boolean},
    {"JKM", &PickleMachine::small_integer},
    {"\x8a\x8b", &PickleMachine::long_integer},
    {"IL", &PickleMachine::integer_text},
    {"G", &PickleMachine::binary_float},
    {"F", &PickleMachine::float_line},
    {"X\x8c\x8d", &PickleMachine::unicode},
    {"BC\x8e\x96", &PickleMachine::byte_string},
    {"TU", &PickleMachine::string8},
    {"S", &PickleMachine::string_line},
    {"V", &PickleMachine::unicode_line},
    {"]", &PickleMachine::empty_list},
    {"}", &PickleMachine::empty_dict},
    {"\x8f", &PickleMachine::empty_set},
    {")", &PickleMachine::empty_tuple},
    {"\x85\x86\x87", &PickleMachine::tuple_of},
    {"t", &PickleMachine::tuple_from_mark},
    {"l", &PickleMachine::list_from_mark},
    {"d", &PickleMachine::dict_from_mark},
    {"\x91", &PickleMachine::set_from_mark},
    {"a", &PickleMachine::append},
    {"e", &PickleMachine::appends},
    {"s", &PickleMachine::set_item},
    {"u", &PickleMachine::set_items},
    {"\x90", &PickleMachine::add_to_set},
    {"c", &PickleMachine::global},
    {"\x93", &PickleMachine::stack_global},
    {"R", &PickleMachine::reduce},
    {"\x81", &PickleMachine::new_object},
    {"\x92", &PickleMachine::new_object_keywords},
    {"i", &PickleMachine::inst},
    {"o", &PickleMachine::obj},
    {"b", &PickleMachine::build},
    {"Q", &PickleMachine::persistent_id},
    {"P", &PickleMachine::persistent_line},
};

constexpr std::array<Handler, 256> handler_table() {
  std::array<Handler, 256> table{};
  for (const OpcodeHandler& row : handlers) {
    for (const char opcode : row.opcodes) table[static_cast<unsigned char>(opcode)] = row.handler;
  }
  return table;
}

constexpr auto handler_of = handler_table();

/// The memo grows by so many slots: more than one in use, so that most are found made.
constexpr std::size_t slots_ahead = 256;

}  // namespace

PickleMachine::PickleMachine(std::shared_ptr<const Bytes> text, std::string_view source, std::uint64_t begin,
                             TensorReading reading, const PickleHints& hints, std::shared_ptr<Budget> budget)
    : text_(std::move(text)),
      source_(source),
      scanner_(*text_, source_, begin),
      result_{Tree(text_, std::move(budget)), {}, {}, 0, 0},
      reading_(reading),
      left_unread_(hints.left_unread),
      taker_(reading == TensorReading::whole ? hints.taker : nullptr) {
  const std::size_t size = text_->size() - begin;
  if (size > limits::max_pickle_bytes) {
    throw Error(Status::refused,
                fmt::format("{}: a pickle of {} bytes; the limit is {}", source_, size, limits::max_pickle_bytes));
  }
  // Room made ahead is written to before it is used: not worth it for the thousands of small pickles of FP8 state.
  constexpr std::size_t least_ahead = std::size_t{256} << 10;
  if (size < least_ahead) return;
  const std::size_t nodes = size / hints.bytes_a_node;
  tree_.reserve(nodes, nodes * hints.slots_a_node);
  constexpr std::size_t bytes_a_slot = 8;  // picklers memoise every second value or so
  memo_.reserve(size / bytes_a_slot);
}

Pickle PickleMachine::run() {
  for (;;) {
    const PickleOp op = scanner_.next();
    if (op.code == Opcode::stop) {
      tree_.root = take(op);
      break;
    }
    (this->*handler_of[static_cast<std::uint8_t>(op.code)])(op);
    // Protocol 4 memoises most of what it makes, at once.
    if (scanner_.skip(Opcode::memoize)) remember(memo_size_, top(op));
  }
  result_.end = scanner_.position();
  return std::move(result_);
}

NodeId PickleMachine::take(const PickleOp& op) {
  const NodeId id = top(op);
  stack_.pop_back();
  return id;
}

NodeId PickleMachine::top(const PickleOp& op) const {
  const std::size_t fence = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= fence) fail(op, "takes a value where there is none");
  return stack_.back();
}

std::span<const NodeId> PickleMachine::take_marked(const PickleOp& op) {
  if (marks_.empty()) fail(op, "takes values since a mark where there is none");
  const std::size_t from = marks_.back();
  marks_.pop_back();
  taken_.assign(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  stack_.resize(from);
  return taken_;
}

void PickleMachine::mark(const PickleOp&) {
  if (taker_ != nullptr && marks_.size() == 1) begin_pairs();
  make_room(marks_);
  marks_.push_back(static_cast<std::uint32_t>(stack_.size()));
}

void PickleMachine::pop(const PickleOp& op) {
  // Python pops a mark like a value.
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
    return;
  }
  take(op);
}

void PickleMachine::pop_mark(const PickleOp& op) {
  take_marked(op);
}

void PickleMachine::dup(const PickleOp& op) {
  push(top(op));
}

void PickleMachine::proto(const PickleOp& op) {
  result_.protocol = std::to_integer<std::uint8_t>(op.argument[0]);
  if (result_.protocol > 5) {
    note_once("pickle-protocol", fmt::format("says pickle protocol {}; Python knows 0 to 5, torch's weights_only "
                                             "reader does not look",
                                             result_.protocol));
  }
}

void PickleMachine::frame(const PickleOp& op) {
  const auto size = load_le<std::uint64_t>(op.argument.data());
  if (size > text_->size() - scanner_.position()) fail(op, fmt::format("a frame of {} bytes passes the end", size));
}

void PickleMachine::refuse(const PickleOp& op) {
  const bool is_buffer = op.code == Opcode::next_buffer || op.code == Opcode::readonly_buffer;
  fail(op, is_buffer ? "wants a buffer from outside the file" : "wants an object of Python's extension registry");
}

void PickleMachine::remember(std::uint64_t index, NodeId id) {
  if (index < memo_.size()) {
    // A slot that is filled again could be one that an unread tensor was made from.
    if (reading_ == TensorReading::whole && memo_[index] != nowhere) throw NeedsEveryOpcode();
    memo_size_ += memo_[index] == nowhere;
    memo_[index] = id;
  } else {
    remember_beyond(index, id);
  }
}

void PickleMachine::grow_memo(std::uint64_t size) {
  tree_.take_memory((size - memo_.size()) * sizeof(NodeId));
  memo_.resize(size, nowhere);
}

void PickleMachine::remember_beyond(std::uint64_t index, NodeId id) {
  if (index <= text_->size()) {
    grow_memo(index + slots_ahead);
    memo_[index] = id;
    ++memo_size_;
    return;
  }
  note_once("memo-index", fmt::format("uses memo number {}, which no pickler would give", index));
  constexpr std::size_t bytes_a_far_slot = 64;
  tree_.take_memory(bytes_a_far_slot);
  memo_size_ += far_memo_.insert_or_assign(index, id).second;
}

NodeId PickleMachine::recall(const PickleOp& op, std::uint64_t index) const {
  if (index < memo_.size() && memo_[index] != nowhere) {
    if (memo_[index] == unread) throw NeedsEveryOpcode();
    return memo_[index];
  }
  const auto far = far_memo_.find(index);
  if (far == far_memo_.end()) fail(op, fmt::format("memo number {} was never set", index));
  return far->second;
}

namespace {

std::uint64_t near_index(const PickleOp& op) {
  return std::to_integer<std::uint64_t>(op.argument[0]);
}

std::uint64_t far_index(const PickleOp& op) {
  return load_le<std::uint32_t>(op.argument.data());
}

std::uint64_t line_index(const PickleOp& op, const PickleScanner& scanner) {
  std::uint64_t index = 0;
  if (op.argument.empty() || op.argument.size() > 18) scanner.fail(op.begin, "a memo number that is none");
  for (const std::byte digit : op.argument) {
    if (digit < std::byte{'0'} || digit > std::byte{'9'}) scanner.fail(op.begin, "a memo number that is none");
    index = index * 10 + (std::to_integer<std::uint64_t>(digit) - '0');
  }
  return index;
}

}  // namespace

void PickleMachine::fetch(const PickleOp& op, std::uint64_t index) {
  const NodeId id = recall(op, index);
  if (reading_ == TensorReading::whole) {
    if (id == tensor_function_ && take_whole_tensor(op, id)) return;
    const auto type = std::ranges::find(unread_types_, id);
    if (type != unread_types_.end() && step_over_object(op, static_cast<std::size_t>(type - unread_types_.begin())))
      return;
  }
  push(id);
}

/// Are the slots that a pattern fetches from what it takes them for?
bool PickleMachine::is_plain(const TensorPattern& pattern) {
  const auto holds = [&](std::uint32_t index, Kind kind) {
    const NodeId id = slot(index);
    return id < tree_.size() && tree_.kind(id) == kind;
  };
  const auto holds_if_any = [&](std::uint32_t index, Kind kind) {
    return index == TensorPattern::no_slot || holds(index, kind);
  };
  // No slot is filled twice while tensors are taken whole: what held for the last tensor holds for this one.
  const std::array common{pattern.word_slot, pattern.class_slot, pattern.device_slot, pattern.hooks_slot};
  if (common != plain_slots_) {
    if (!holds(pattern.word_slot, Kind::string) || tree_.text(slot(pattern.word_slot)) != "storage" ||
        !holds(pattern.class_slot, Kind::name) || !holds(pattern.device_slot, Kind::string) ||
        !holds(pattern.hooks_slot, Kind::name) ||
        tree_[slot(pattern.hooks_slot)].detail != static_cast<std::uint16_t>(Callee::dictionary)) {
      return false;
    }
    plain_slots_ = common;
  }
  return holds_if_any(pattern.key_slot, Kind::string) && holds_if_any(pattern.sizes.slot, Kind::tuple) &&
         holds_if_any(pattern.strides.slot, Kind::tuple);
}

bool PickleMachine::take_whole_tensor(const PickleOp& op, NodeId function) {
  const auto pattern = read_tensor_pattern(*text_, scanner_.position());
  if (!pattern || !is_plain(*pattern)) return false;
  const auto fetched = [&](std::uint32_t index) { return index == TensorPattern::no_slot ? nowhere : slot(index); };
  NodeId key = fetched(pattern->key_slot);
  if (key == nowhere) {
    scanner_.go_to(pattern->key_op.offset);
    unicode(scanner_.next());
    key = take(op);
    if (pattern->key_stored != TensorPattern::no_slot) remember(pattern->key_stored, key);
  }
  for (std::size_t i = 0; i < pattern->stored_count; ++i) remember(pattern->stored[i], unread);
  const UnreadParts parts{function,
                          nowhere,
                          nowhere,
                          nowhere,
                          slot(pattern->class_slot),
                          key,
                          slot(pattern->device_slot),
                          fetched(pattern->sizes.slot),
                          fetched(pattern->strides.slot)};
  const NodeId tensor = add_items(Kind::tensor, parts, {pattern->begin, 0});
  tree_.edit(tensor).detail = static_cast<std::uint16_t>(Callee::tensor);
  push(tensor);
  if (pattern->result_stored != TensorPattern::no_slot) remember(pattern->result_stored, tensor);
  scanner_.go_to(pattern->end);
  return true;
}

/// The next `count` slots are of values that are not read.
void PickleMachine::leave_unread(std::uint64_t count) {
  const std::uint64_t end = memo_size_ + count;
  if (end > memo_.size()) grow_memo(end + slots_ahead);
  const auto first = memo_.begin() + static_cast<std::ptrdiff_t>(memo_size_);
  const auto last = memo_.begin() + static_cast<std::ptrdiff_t>(end);
  if (std::any_of(first, last, [](NodeId id) { return id != nowhere; })) throw NeedsEveryOpcode();
  std::fill(first, last, unread);
  memo_size_ = end;
}

bool PickleMachine::step_over_object(const PickleOp& op, std::size_t unread_class) {
  const auto object = skip_object(*text_, scanner_.position(), memo_size_);
  if (!object) return false;
  leave_unread(object->memoized);
  NodeId& stand_in = unread_objects_[unread_class];
  if (stand_in == nowhere) {
    const std::array parts{unread_types_[unread_class], nowhere, nowhere, nowhere};
    stand_in = tree_.add_items(Kind::opaque, parts, op.span());
  }
  push(stand_in);
  scanner_.go_to(object->end);
  return true;
}

void PickleMachine::get_near(const PickleOp& op) {
  fetch(op, near_index(op));
}
void PickleMachine::get_far(const PickleOp& op) {
  fetch(op, far_index(op));
}
void PickleMachine::get_line(const PickleOp& op) {
  fetch(op, line_index(op, scanner_));
}
/// Slots of a pickler's choice: what was stored since a mark is not told by their numbers.
void PickleMachine::store(const PickleOp& op, std::uint64_t index) {
  if (taker_ != nullptr) throw NeedsEveryOpcode();
  remember(index, top(op));
}

void PickleMachine::put_near(const PickleOp& op) {
  store(op, near_index(op));
}
void PickleMachine::put_far(const PickleOp& op) {
  store(op, far_index(op));
}
void PickleMachine::put_line(const PickleOp& op) {
  store(op, line_index(op, scanner_));
}

void PickleMachine::memoize(const PickleOp& op) {
  remember(memo_size_, top(op));
}

void PickleMachine::note_once(std::string_view code, std::string message) {
  auto& findings = result_.findings;
  if (std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; })) return;
  findings.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
}

Pickle read_pickle(std::shared_ptr<const Bytes> text, std::string_view source, std::uint64_t begin,
                   const PickleHints& hints, std::shared_ptr<Budget> budget) {
  if (budget == nullptr) budget = std::make_shared<Budget>(std::string(source), text->size());
  Pickle pickle;
  try {
    pickle = PickleMachine(text, source, begin, TensorReading::whole, hints, budget).run();
  } catch (const NeedsEveryOpcode&) {
    if (hints.taker != nullptr) hints.taker->start_anew();
    pickle = PickleMachine(std::move(text), source, begin, TensorReading::by_opcode, hints, budget).run();
  }
  finish_pickle(pickle);
  return pickle;
}

}  // namespace tare

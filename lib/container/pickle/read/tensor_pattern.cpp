#include "lib/container/pickle/read/tensor_pattern.hpp"

#include <algorithm>

#include "lib/container/pickle/read/opcode.hpp"

namespace tare {
namespace {

/// Bytes of the argument of the opcodes that write a number (of LONG1: of its length); 0 for all others.
constexpr auto number_sizes = [] {
  std::array<std::uint8_t, 256> sizes{};
  sizes[static_cast<std::uint8_t>(Opcode::binint1)] = 1;
  sizes[static_cast<std::uint8_t>(Opcode::binint2)] = 2;
  sizes[static_cast<std::uint8_t>(Opcode::binint)] = 4;
  sizes[static_cast<std::uint8_t>(Opcode::long1)] = 1;
  return sizes;
}();

/// Reads on as long as everything is as the pattern has it; afterwards `is_fitting` is false, and stays so.
class PatternReader {
 public:
  PatternReader(ByteView text, std::uint64_t at) : text_(text), at_(at) {}

  [[nodiscard]] bool is_fitting() const { return fits_; }
  [[nodiscard]] std::uint64_t position() const { return at_; }

  [[nodiscard]] bool sees(Opcode code) const {
    return at_ < text_.size() && text_[at_] == static_cast<std::byte>(code);
  }

  void expect(Opcode code) {
    fits_ = fits_ && sees(code);
    ++at_;
  }

  std::uint32_t fetched_slot() {
    const std::uint32_t slot = slot_of(Opcode::binget, Opcode::long_binget);
    fits_ = fits_ && slot != TensorPattern::no_slot;
    return slot;
  }

  /// The slot that what was just made is stored in, or no_slot.
  std::uint32_t stored_slot() { return slot_of(Opcode::binput, Opcode::long_binput); }

  std::int64_t number() {
    if (sees(Opcode::long1)) return long_number();
    const std::size_t size = sees_number() ? number_sizes[code()] : 0;
    if (size == 0 || text_.size() - at_ < 1 + sizeof(std::int64_t)) {
      fits_ = false;  // no tensor ends within eight bytes of a number
      return 0;
    }
    // The sizes of numbers follow no pattern: shifting all eight bytes costs less than telling the sizes apart.
    const std::size_t shift = 8 * (sizeof(std::int64_t) - size);
    const std::uint64_t bits = load_le<std::uint64_t>(text_.data() + at_ + 1) << shift;
    const bool is_signed = sees(Opcode::binint);
    at_ += 1 + size;
    return is_signed ? static_cast<std::int64_t>(bits) >> shift : static_cast<std::int64_t>(bits >> shift);
  }

  [[nodiscard]] bool sees_number() const { return at_ < text_.size() && number_sizes[code()] != 0; }

  Span unicode() {
    const std::uint64_t from = at_;
    const auto size = argument<std::uint32_t>();
    fits_ = fits_ && size <= text_.size() - std::min<std::uint64_t>(at_, text_.size());
    at_ += size;
    return {from, at_ - from};
  }

 private:
  [[nodiscard]] std::uint8_t code() const { return std::to_integer<std::uint8_t>(text_[at_]); }

  std::uint32_t slot_of(Opcode near, Opcode far) {
    if (sees(near)) return argument<std::uint8_t>();
    if (sees(far)) return argument<std::uint32_t>();
    return TensorPattern::no_slot;
  }

  template <Plain T>
  T argument() {
    const std::uint64_t from = at_ + 1;
    at_ = from + sizeof(T);
    if (at_ > text_.size()) {
      fits_ = false;
      return 0;
    }
    return load_le<T>(text_.data() + from);
  }

  std::int64_t long_number() {
    const auto size = argument<std::uint8_t>();
    if (!fits_ || size > sizeof(std::int64_t) || size > text_.size() - at_) {
      fits_ = false;
      return 0;
    }
    std::int64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
      value = value * 256 + std::to_integer<std::int64_t>(text_[at_ + i]);
    }
    at_ += size;
    // Torch writes counts this way, which are positive: a set sign bit is left to the machine.
    fits_ = fits_ && (size == 0 || (text_[at_ - 1] & std::byte{0x80}) == std::byte{0});
    return value;
  }

  ByteView text_;
  std::uint64_t at_;
  bool fits_ = true;
};

void note_stored(TensorPattern& pattern, PatternReader& reader) {
  const std::uint32_t slot = reader.stored_slot();
  if (slot != TensorPattern::no_slot) pattern.stored[pattern.stored_count++] = slot;
}

/// (), (n,), (n, n), (n, n, n) or a longer one.
TensorPattern::Numbers read_numbers(TensorPattern& pattern, PatternReader& reader) {
  const std::uint64_t from = reader.position();
  if (reader.sees(Opcode::binget) || reader.sees(Opcode::long_binget)) return {{}, reader.fetched_slot()};
  if (reader.sees(Opcode::empty_tuple)) {
    reader.expect(Opcode::empty_tuple);
    return {{from, reader.position() - from}};
  }
  const bool is_marked = reader.sees(Opcode::mark);
  if (is_marked) reader.expect(Opcode::mark);
  std::size_t count = 0;
  for (; reader.is_fitting() && reader.sees_number(); ++count) reader.number();
  if (is_marked) {
    reader.expect(Opcode::tuple);
  } else if (count >= 1 && count <= 3) {
    reader.expect(static_cast<Opcode>(static_cast<std::size_t>(Opcode::tuple1) + count - 1));
  } else {
    reader.expect(Opcode::stop);  // no tuple of this kind: STOP never stands here
  }
  const Span ops{from, reader.position() - from};
  note_stored(pattern, reader);
  return {ops};
}

void read_storage(TensorPattern& pattern, PatternReader& reader) {
  const std::uint64_t from = reader.position();
  reader.expect(Opcode::mark);
  pattern.word_slot = reader.fetched_slot();
  pattern.class_slot = reader.fetched_slot();
  if (reader.sees(Opcode::binunicode)) {
    pattern.key_op = reader.unicode();
    pattern.key_stored = reader.stored_slot();
  } else {
    pattern.key_slot = reader.fetched_slot();
  }
  pattern.device_slot = reader.fetched_slot();
  pattern.storage_count = reader.number();
  if (reader.sees(Opcode::none)) reader.expect(Opcode::none);
  reader.expect(Opcode::tuple);
  pattern.storage_id = {from, reader.position() - from};
  note_stored(pattern, reader);
  reader.expect(Opcode::binpersid);
}

/// What follows the storage: where in it the tensor lies.
void read_view(TensorPattern& pattern, PatternReader& reader) {
  pattern.offset_op.offset = reader.position();
  pattern.offset = reader.number();
  pattern.offset_op.size = reader.position() - pattern.offset_op.offset;
  pattern.sizes = read_numbers(pattern, reader);
  pattern.strides = read_numbers(pattern, reader);
  reader.expect(reader.sees(Opcode::newtrue) ? Opcode::newtrue : Opcode::newfalse);
  pattern.hooks_slot = reader.fetched_slot();
  reader.expect(Opcode::empty_tuple);
  reader.expect(Opcode::reduce);
  note_stored(pattern, reader);
  reader.expect(Opcode::tuple);
  note_stored(pattern, reader);
  reader.expect(Opcode::reduce);
  pattern.result_stored = reader.stored_slot();
}

}  // namespace

std::optional<TensorPattern> read_tensor_pattern(ByteView text, std::uint64_t begin) {
  std::optional<TensorPattern> found(std::in_place);
  TensorPattern& pattern = *found;
  pattern.begin = begin;
  PatternReader reader(text, begin);
  reader.expect(Opcode::mark);
  if (reader.is_fitting()) read_storage(pattern, reader);
  if (reader.is_fitting()) read_view(pattern, reader);
  pattern.end = reader.position();
  if (!reader.is_fitting() || pattern.end > text.size()) found.reset();
  return found;
}

std::vector<std::int64_t> recipe_numbers(ByteView text, Span ops) {
  std::vector<std::int64_t> numbers;
  PatternReader reader(text, ops.offset);
  if (reader.sees(Opcode::mark)) reader.expect(Opcode::mark);
  while (reader.position() < ops.end() && reader.sees_number()) numbers.push_back(reader.number());
  return numbers;
}

}  // namespace tare

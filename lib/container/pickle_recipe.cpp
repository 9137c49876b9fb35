#include "lib/container/pickle_recipe.hpp"

#include <algorithm>

#include "lib/container/pickle_opcode.hpp"

namespace tare {
namespace {

/// Reads on as long as everything is as the recipe has it; afterwards `is_fitting` is false, and stays so.
class RecipeReader {
 public:
  RecipeReader(ByteView text, std::uint64_t at) : text_(text), at_(at) {}

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
    if (sees(Opcode::binget)) return argument<std::uint8_t>();
    if (sees(Opcode::long_binget)) return argument<std::uint32_t>();
    fits_ = false;
    return 0;
  }

  /// The slot that what was just made is stored in, if it is stored.
  std::optional<std::uint32_t> stored_slot() {
    if (sees(Opcode::binput)) return argument<std::uint8_t>();
    if (sees(Opcode::long_binput)) return argument<std::uint32_t>();
    return std::nullopt;
  }

  std::int64_t number() {
    if (sees(Opcode::binint1)) return argument<std::uint8_t>();
    if (sees(Opcode::binint2)) return argument<std::uint16_t>();
    if (sees(Opcode::binint)) return argument<std::int32_t>();
    if (sees(Opcode::long1)) return long_number();
    fits_ = false;
    return 0;
  }

  [[nodiscard]] bool sees_number() const {
    return sees(Opcode::binint1) || sees(Opcode::binint2) || sees(Opcode::binint) || sees(Opcode::long1);
  }

  Span unicode() {
    const std::uint64_t from = at_;
    const auto size = argument<std::uint32_t>();
    fits_ = fits_ && size <= text_.size() - std::min<std::uint64_t>(at_, text_.size());
    at_ += size;
    return {from, at_ - from};
  }

 private:
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

void store(TensorRecipe& recipe, RecipeReader& reader) {
  if (const auto slot = reader.stored_slot()) recipe.stored[recipe.stored_count++] = *slot;
}

/// (), (n,), (n, n), (n, n, n) or a longer one.
TensorRecipe::Numbers read_numbers(TensorRecipe& recipe, RecipeReader& reader) {
  const std::uint64_t from = reader.position();
  if (reader.sees(Opcode::binget) || reader.sees(Opcode::long_binget)) return {{}, reader.fetched_slot()};
  if (reader.sees(Opcode::empty_tuple)) {
    reader.expect(Opcode::empty_tuple);
    return {{from, reader.position() - from}, std::nullopt};
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
  store(recipe, reader);
  return {ops, std::nullopt};
}

void read_storage(TensorRecipe& recipe, RecipeReader& reader) {
  const std::uint64_t from = reader.position();
  reader.expect(Opcode::mark);
  recipe.word_slot = reader.fetched_slot();
  recipe.class_slot = reader.fetched_slot();
  if (reader.sees(Opcode::binunicode)) {
    recipe.key_op = reader.unicode();
    recipe.key_stored = reader.stored_slot();
  } else {
    recipe.key_slot = reader.fetched_slot();
  }
  recipe.device_slot = reader.fetched_slot();
  recipe.storage_count = reader.number();
  if (reader.sees(Opcode::none)) reader.expect(Opcode::none);
  reader.expect(Opcode::tuple);
  recipe.storage_id = {from, reader.position() - from};
  store(recipe, reader);
  reader.expect(Opcode::binpersid);
}

}  // namespace

std::optional<TensorRecipe> read_recipe(ByteView text, std::uint64_t begin) {
  TensorRecipe recipe;
  recipe.begin = begin;
  RecipeReader reader(text, begin);
  reader.expect(Opcode::mark);
  if (!reader.is_fitting()) return std::nullopt;
  read_storage(recipe, reader);
  if (!reader.is_fitting()) return std::nullopt;
  recipe.offset_op.offset = reader.position();
  recipe.offset = reader.number();
  recipe.offset_op.size = reader.position() - recipe.offset_op.offset;
  recipe.sizes = read_numbers(recipe, reader);
  recipe.strides = read_numbers(recipe, reader);
  reader.expect(reader.sees(Opcode::newtrue) ? Opcode::newtrue : Opcode::newfalse);
  recipe.hooks_slot = reader.fetched_slot();
  reader.expect(Opcode::empty_tuple);
  reader.expect(Opcode::reduce);
  store(recipe, reader);
  reader.expect(Opcode::tuple);
  store(recipe, reader);
  reader.expect(Opcode::reduce);
  recipe.result_stored = reader.stored_slot();
  recipe.end = reader.position();
  if (!reader.is_fitting() || recipe.end > text.size()) return std::nullopt;
  return recipe;
}

std::vector<std::int64_t> recipe_numbers(ByteView text, Span ops) {
  std::vector<std::int64_t> numbers;
  RecipeReader reader(text.first(ops.end()), ops.offset);
  if (reader.sees(Opcode::mark)) reader.expect(Opcode::mark);
  while (reader.sees_number()) numbers.push_back(reader.number());
  return numbers;
}

}  // namespace tare

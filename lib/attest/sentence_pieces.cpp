#include "lib/attest/sentence_pieces.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/container/protobuf.hpp"

namespace tare {
namespace {

struct MessageFields;

enum class FieldHolds : std::uint8_t {
  number,
  words,  ///< text without control characters: a graph has some in each of its nodes
  bytes,
  message,
};

/// Of the fields from one number to another.
struct FieldRange {
  std::uint64_t first, last;
  FieldHolds holds;
  const MessageFields* message = nullptr;
};
struct MessageFields {
  std::span<const FieldRange> fields;
  std::uint64_t required = 0;  ///< a field without which it is none; 0: no field
};

// A piece is a text, its score and its kind. TensorFlow's graphs have a text for an operation there.
constexpr FieldRange piece_fields[] = {{1, 1, FieldHolds::bytes}, {2, 3, FieldHolds::number}};
constexpr FieldRange trainer_fields[] = {
    {1, 2, FieldHolds::words},    {3, 4, FieldHolds::number},   {5, 5, FieldHolds::words},
    {6, 6, FieldHolds::number},   {7, 7, FieldHolds::words},    {10, 26, FieldHolds::number},
    {30, 31, FieldHolds::bytes},  {32, 35, FieldHolds::number}, {36, 36, FieldHolds::bytes},
    {40, 43, FieldHolds::number}, {44, 48, FieldHolds::bytes},  {49, 52, FieldHolds::number},
    {53, 54, FieldHolds::bytes},  {55, 55, FieldHolds::number},
};
constexpr FieldRange normalizer_fields[] = {
    {1, 1, FieldHolds::words}, {2, 2, FieldHolds::bytes}, {3, 5, FieldHolds::number}, {6, 6, FieldHolds::words}};
constexpr FieldRange sample_fields[] = {{1, 2, FieldHolds::bytes}};

constexpr MessageFields piece_message{piece_fields, 1};
constexpr MessageFields trainer_message{trainer_fields};
constexpr MessageFields normalizer_message{normalizer_fields};
constexpr MessageFields sample_message{sample_fields};
constexpr FieldRange samples_fields[] = {{1, 1, FieldHolds::message, &sample_message}};
constexpr MessageFields samples_message{samples_fields};

constexpr FieldRange model_fields[] = {
    {1, 1, FieldHolds::message, &piece_message},      {2, 2, FieldHolds::message, &trainer_message},
    {3, 3, FieldHolds::message, &normalizer_message}, {4, 4, FieldHolds::message, &samples_message},
    {5, 5, FieldHolds::message, &normalizer_message},
};
constexpr MessageFields model_message{model_fields, 1};

bool is_words(const std::string& text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  return is_utf8(text) && std::ranges::none_of(text, is_control);
}

bool is_message(ProtobufReader& reader, Span left, const MessageFields& message);

bool is_field(ProtobufReader& reader, const ProtobufField& field, const FieldRange& range) {
  constexpr std::uint64_t longest_words = 64 << 10;
  if (field.is_run != (range.holds != FieldHolds::number)) return false;
  if (range.holds == FieldHolds::words) return is_words(reader.text(field.run, longest_words));
  return range.holds != FieldHolds::message || is_message(reader, field.run, *range.message);
}

bool is_message(ProtobufReader& reader, Span left, const MessageFields& message) {
  bool has_required = message.required == 0;
  while (left.size > 0) {
    const ProtobufField field = reader.take(left);
    const auto is_in = [&](const FieldRange& r) { return field.number >= r.first && field.number <= r.last; };
    const auto range = std::ranges::find_if(message.fields, is_in);
    if (range == message.fields.end() || !is_field(reader, field, *range)) return false;
    has_required |= field.number == message.required;
  }
  return has_required;
}

}  // namespace

bool is_sentence_pieces(const Source& source) {
  ProtobufReader reader(source);
  try {
    return is_message(reader, {0, source.size()}, model_message);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tare

#include "lib/container/protobuf.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/container/varint.hpp"

namespace tare {
namespace {

constexpr std::uint64_t least_window = 512;
constexpr std::uint64_t longest_number = 10;

enum WireType : std::uint8_t { varint = 0, fixed64 = 1, run = 2, fixed32 = 5 };

}  // namespace

void ProtobufReader::fail(std::uint64_t offset, const std::string& problem) const {
  throw Error(Status::corrupt, fmt::format("{}: protobuf at offset {}: {}", source_.name(), offset, problem),
              "the file is damaged, or not what it looks like; take another copy");
}

ByteView ProtobufReader::window(Span wanted) {
  if (wanted.offset < window_at_ || wanted.end() > window_at_ + window_.size()) {
    const std::uint64_t size = std::min(std::max(least_window, wanted.size), source_.size() - wanted.offset);
    window_ = source_.read({wanted.offset, size});
    window_at_ = wanted.offset;
  }
  return ByteView(window_).subspan(wanted.offset - window_at_, wanted.size);
}

std::uint64_t ProtobufReader::take_number(Span& from) {
  ByteView rest = window({from.offset, std::min(from.size, longest_number)});
  const std::uint64_t seen = rest.size();
  const auto number = take_varint(rest);
  if (!number) fail(from.offset, "a number without an end");
  const std::uint64_t taken = seen - rest.size();
  from = {from.offset + taken, from.size - taken};
  return *number;
}

ProtobufField ProtobufReader::take(Span& message) {
  const std::uint64_t begin = message.offset;
  const std::uint64_t tag = take_number(message);
  ProtobufField field;
  field.number = tag >> 3;
  if (field.number == 0) fail(begin, "a field of number 0");
  const auto take_run = [&](std::uint64_t size) {
    if (size > message.size) fail(begin, fmt::format("a field of {} bytes, where {} are left", size, message.size));
    field.run = {message.offset, size};
    message = {message.offset + size, message.size - size};
  };
  switch (tag & 7) {
    case WireType::varint:
      if (message.size == 0) fail(begin, "a field without a value");
      field.value = take_number(message);
      break;
    case WireType::run:
      if (message.size == 0) fail(begin, "a field without a length");
      field.is_run = true;
      take_run(take_number(message));
      break;
    case WireType::fixed64:
      take_run(sizeof(std::uint64_t));
      field.value = load_le<std::uint64_t>(window(field.run).data());
      break;
    case WireType::fixed32:
      take_run(sizeof(std::uint32_t));
      field.value = load_le<std::uint32_t>(window(field.run).data());
      break;
    default:
      fail(begin, fmt::format("a field of kind {}, which there is not", tag & 7));
  }
  return field;
}

void ProtobufReader::add_numbers(const ProtobufField& field, std::vector<std::int64_t>& to, std::size_t most) {
  const auto add = [&](std::uint64_t number) {
    if (to.size() == most) fail(field.run.offset, fmt::format("more than {} numbers", most));
    to.push_back(static_cast<std::int64_t>(number));
  };
  if (!field.is_run) add(field.value);
  for (Span packed = field.run; field.is_run && packed.size > 0;) add(take_number(packed));
}

std::string ProtobufReader::text(Span run, std::uint64_t most) {
  if (run.size > most) fail(run.offset, fmt::format("a text of {} bytes", run.size));
  return std::string(as_text(window(run)));
}

}  // namespace tare

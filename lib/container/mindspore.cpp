#include "lib/container/mindspore.hpp"

#include <optional>

#include "lib/container/recognised.hpp"
#include "lib/container/varint.hpp"

namespace tare {
namespace {

constexpr std::byte field_1{0x0a};  ///< of bytes: the record, and in it the parameter's name
constexpr std::byte field_2{0x12};  ///< of bytes: the tensor

/// The length of a field of bytes with that tag; nothing where another field stands there.
std::optional<std::uint64_t> field(ByteView& from, std::byte tag) {
  if (from.empty() || from[0] != tag) return std::nullopt;
  from = from.subspan(1);
  return take_varint(from);
}

}  // namespace

bool starts_like_mindspore(const Source& source, ByteView head) {
  ByteView rest = head;
  const auto record = field(rest, field_1);
  const auto name = field(rest, field_1);
  if (!record || !name || *record > source.size() || *name == 0 || *name >= rest.size() || *name >= *record)
    return false;
  rest = rest.subspan(*name);
  return field(rest, field_2).has_value();
}

std::unique_ptr<Container> open_mindspore(const std::shared_ptr<const Source>&) {
  return recognised("mindspore", "MindSpore checkpoint");
}

}  // namespace tare

#include "lib/container/pickle/write/memo_room.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

namespace tare {
namespace {

Bytes binput(std::uint64_t index) {
  return {static_cast<std::byte>(Opcode::binput), static_cast<std::byte>(index)};
}

Bytes long_binput(std::uint64_t index) {
  Bytes bytes{static_cast<std::byte>(Opcode::long_binput)};
  append_le(bytes, static_cast<std::uint32_t>(index));
  return bytes;
}

std::uint64_t distance(const Span& a, const Span& b) {
  return a.offset < b.offset ? b.offset - a.end() : a.offset - b.end();
}

/// What may stand instead of an opcode that fills an unfetched slot.
std::vector<Bytes> choices(const PickleLayout& layout, const PickleLayout::Put& put) {
  std::vector<Bytes> result{{}};
  if (put.op.code == Opcode::binput) result.push_back(long_binput(put.index));
  if (put.op.code == Opcode::long_binput && layout.spare_slot) result.push_back(binput(*layout.spare_slot));
  return result;
}

/// A long argument that has no bytes.
bool is_wall(const PickleOp& op) {
  const OpcodeFacts& known = facts(op.code);
  return op.argument.empty() && known.argument == Argument::counted && known.size >= 4;
}

/// Those that no wall stands in front of.
std::vector<PickleLayout::Put> within_walls(const PickleLayout& layout, Span around) {
  const auto walls_before = [&](std::uint64_t offset) {
    return std::upper_bound(layout.walls.begin(), layout.walls.end(), offset) - layout.walls.begin();
  };
  std::vector<PickleLayout::Put> puts;
  std::copy_if(layout.unfetched.begin(), layout.unfetched.end(), std::back_inserter(puts),
               [&](const auto& put) { return walls_before(put.op.begin) == walls_before(around.offset); });
  return puts;
}

/// More candidates than ever needed: five bytes take three of them. Each is a few bytes, so that few sums
/// differ.
constexpr std::size_t candidates_tried = 24;

}  // namespace

std::uint64_t memo_index(const PickleOp& op) {
  if (op.code == Opcode::binget || op.code == Opcode::binput) return std::to_integer<std::uint64_t>(op.argument[0]);
  if (op.code == Opcode::long_binget || op.code == Opcode::long_binput) {
    return load_le<std::uint32_t>(op.argument.data());
  }
  std::uint64_t index = 0;
  const std::string_view digits = as_text(op.argument);
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return index;
}

PickleLayout survey_pickle(ByteView text, std::uint64_t begin, std::uint64_t end, std::span<const Span> hopped) {
  PickleLayout layout;
  std::vector<PickleLayout::Put> puts;
  std::unordered_set<std::uint64_t> fetched;
  bool counts_slots = false;
  PickleScanner scanner(text, "", begin);
  while (scanner.position() < end) {
    if (!hopped.empty() && hopped.front().offset == scanner.position()) {
      scanner.go_to(hopped.front().end());
      hopped = hopped.subspan(1);
    }
    const PickleOp op = scanner.next();
    switch (op.code) {
      case Opcode::get:
      case Opcode::binget:
      case Opcode::long_binget:
        fetched.insert(memo_index(op));
        break;
      case Opcode::put:
      case Opcode::binput:
      case Opcode::long_binput:
        puts.push_back({op, memo_index(op)});
        break;
      case Opcode::memoize:
        counts_slots = true;
        break;
      case Opcode::frame:
        layout.frames.push_back({op.end(), load_le<std::uint64_t>(op.argument.data())});
        break;
      default:
        if (is_wall(op)) layout.walls.push_back(op.begin);
    }
  }
  // MEMOIZE numbers its slot by how many there are: none may go then.
  if (counts_slots) return layout;
  std::erase_if(puts, [&](const auto& put) { return fetched.contains(put.index); });
  for (const auto& put : puts) {
    if (put.index < 256) layout.spare_slot = put.index;
  }
  layout.unfetched = std::move(puts);
  return layout;
}

std::optional<std::vector<Replacement>> make_room(const PickleLayout& layout, Span around, std::int64_t bytes_wanted) {
  std::vector<PickleLayout::Put> nearest = within_walls(layout, around);
  const std::size_t tried = std::min(candidates_tried, nearest.size());
  std::partial_sort(
      nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(tried), nearest.end(),
      [&](const auto& a, const auto& b) { return distance(a.op.span(), around) < distance(b.op.span(), around); });
  nearest.resize(tried);

  // Each sum of saved bytes that can be reached, with the first (so the nearest) way to reach it.
  std::map<std::int64_t, std::vector<Replacement>> reached{{0, {}}};
  for (const auto& put : nearest) {
    if (reached.contains(bytes_wanted)) break;
    const auto before = reached;
    for (const Bytes& choice : choices(layout, put)) {
      const std::int64_t saved = static_cast<std::int64_t>(put.op.size) - static_cast<std::int64_t>(choice.size());
      for (const auto& [sum, replacements] : before) {
        if (reached.contains(sum + saved)) continue;
        auto& way = reached[sum + saved] = replacements;
        way.push_back({put.op.span(), choice});
      }
    }
  }
  const auto found = reached.find(bytes_wanted);
  if (found == reached.end()) return std::nullopt;
  return found->second;
}

}  // namespace tare

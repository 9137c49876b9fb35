#include "lib/container/pickle_patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/pickle_encode.hpp"
#include "lib/container/pickle_slack.hpp"
#include "lib/container/pickle_unshare.hpp"

namespace tare {
namespace {

/// How many slots of the tree hold a node that `matches`. No recursion; every node is looked at once.
template <typename Matches>
std::size_t slots_holding(const Tree& tree, const Matches& matches) {
  std::vector<bool> seen(tree.size());
  std::vector<NodeId> open{tree.root};
  std::size_t count = matches(tree.root) ? 1 : 0;
  seen[tree.root] = true;
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const auto children : {tree.items(node), tree.parts(node)}) {
      for (const NodeId child : children) {
        if (child == nowhere) continue;
        count += matches(child);
        if (seen[child]) continue;
        seen[child] = true;
        open.push_back(child);
      }
    }
  }
  return count;
}

[[noreturn]] void refuse_shared(const NodeChange& change) {
  throw Error(Status::refused, change.meaning + ": another place of the file shares that very value",
              "changing it here would change it there: separate them in the framework first");
}

void require_unshared(const Tree& tree, Span place, const NodeChange& change) {
  if (slots_holding(tree, [&](NodeId id) { return tree.span(id) == place; }) > 1) refuse_shared(change);
}

/// Bytes over the first element of an array, in the opcode that holds them.
Replacement replace_array(const Tree& tree, const PickleTensors& tensors, const NodeChange& change) {
  const Tensor array = tensors.describe(change.node);
  if (array.count() != 1 || array.type.size == 0) {
    throw Error(Status::refused, fmt::format("{}: {} is no single number", change.meaning, array.type_text()));
  }
  const NodeId data = tensors.array_bytes(change.node);
  Bytes contents(as_bytes(tree.text(data)).begin(), as_bytes(tree.text(data)).end());
  if (contents.size() != array.type.size) throw Error(Status::corrupt, change.meaning + ": an array of another size");
  contents = element_bytes(array.type, new_number(change), tensors.array_order(change.node));
  require_unshared(tree, tree.span(data), change);
  PickleScanner scanner(tree.bytes(), "", tree.span(data).offset);
  return {tree.span(data), encode_bytes_like(scanner.next(), contents)};
}

Replacement replace_scalar(const Tree& tree, const NodeChange& change) {
  require_unshared(tree, tree.span(change.node), change);
  PickleScanner scanner(tree.bytes(), "", tree.span(change.node).offset);
  return {tree.span(change.node), encode_like(scanner.next(), change.value)};
}

std::int64_t growth(const std::vector<Replacement>& replacements) {
  std::int64_t sum = 0;
  for (const auto& r : replacements)
    sum += static_cast<std::int64_t>(r.after.size()) - static_cast<std::int64_t>(r.place.size);
  return sum;
}

/// An int may be written longer than need be: where room comes in fives, that fills the rest.
bool stretch(std::vector<Replacement>& replacements, std::span<const NodeChange> integers, std::size_t bytes) {
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const auto* integer = std::get_if<Integer>(&integers[i].value);
    const std::size_t wanted = replacements[i].after.size() + bytes;
    if (integer == nullptr || wanted < 2 + two_complement_size(integer->value) || wanted > 10) continue;
    if (argument_of(std::to_integer<std::uint8_t>(replacements[i].after[0])) == Argument::line) continue;
    replacements[i].after = encode_long1(integer->value, wanted - 2);
    return true;
  }
  return false;
}

Bytes applied(ByteView text, Span range, std::vector<Replacement> replacements) {
  std::sort(replacements.begin(), replacements.end(),
            [](const auto& a, const auto& b) { return a.place.offset < b.place.offset; });
  Bytes result;
  std::uint64_t at = range.offset;
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    const ByteView part = text.subspan(from, to - from);
    result.insert(result.end(), part.begin(), part.end());
  };
  for (const Replacement& replacement : replacements) {
    copy(at, replacement.place.offset);
    result.insert(result.end(), replacement.after.begin(), replacement.after.end());
    at = replacement.place.end();
  }
  copy(at, range.end());
  return result;
}

/// The lengths of frames whose contents grew.
std::vector<Replacement> mended_frames(const PickleLayout& layout, const std::vector<Replacement>& replacements) {
  std::vector<Replacement> mended;
  for (const Span& frame : layout.frames) {
    std::vector<Replacement> inside;
    for (const Replacement& r : replacements) {
      if (r.place.offset >= frame.offset && r.place.end() <= frame.end()) inside.push_back(r);
    }
    if (growth(inside) == 0) continue;
    Bytes length;
    append_le(length, frame.size + static_cast<std::uint64_t>(growth(inside)));
    mended.push_back({{frame.offset - sizeof(std::uint64_t), sizeof(std::uint64_t)}, length});
  }
  return mended;
}

/// The same size where there is room, else a longer or shorter pickle.
void fit(const PickleLayout& layout, std::vector<Replacement>& replacements, std::span<const NodeChange> changes) {
  if (growth(replacements) == 0) return;
  static constexpr std::size_t most_stretched = 6;
  for (std::size_t extra = 0; extra <= most_stretched; ++extra) {
    std::vector<Replacement> stretched = replacements;
    if (extra > 0 && !stretch(stretched, changes, extra)) continue;
    const auto room = make_room(layout, replacements.front().place, growth(stretched));
    if (!room) continue;
    replacements = std::move(stretched);
    replacements.insert(replacements.end(), room->begin(), room->end());
    return;
  }
}

}  // namespace

namespace {

/// The element in place, or in a storage of its own where another tensor shows it too.
void change_tensor(const Pickle& pickle, std::uint64_t begin, const PickleTensors& tensors, const NodeChange& change,
                   PickleRewrite& rewrite, std::vector<Replacement>& replacements) {
  const auto is_it = [&](NodeId id) { return id == change.node; };
  if (slots_holding(pickle.tree, is_it) > 1) refuse_shared(change);
  const Span place = tensors.only_element(change.node);
  const ElementType type = tensors.describe(change.node).type;
  Bytes element = element_bytes(type, new_number(change), tensors.order());
  if (!tensors.is_shown_elsewhere(change.node)) {
    rewrite.elements.push_back({place, std::move(element), change.meaning});
    return;
  }
  if (!rewrite.storages.empty()) {
    throw Error(Status::refused, change.meaning + ": only one tensor of an edit can be parted from a shared storage",
                "edit the fields one after the other");
  }
  const std::string key = tensors.unused_key();
  for (Replacement& replacement : own_storage(pickle, begin, change.node, key)) {
    replacements.push_back(std::move(replacement));
  }
  rewrite.storages.push_back({key, std::move(element), change.meaning});
}

}  // namespace

PickleRewrite rewrite_pickle(const Pickle& pickle, std::uint64_t begin, const PickleTensors& tensors,
                             std::span<const NodeChange> changes) {
  PickleRewrite rewrite;
  std::vector<Replacement> replacements;
  std::vector<Replacement> parted;
  std::vector<NodeChange> in_pickle;
  for (const NodeChange& change : changes) {
    const Kind kind = pickle.tree.kind(change.node);
    if (kind == Kind::tensor) {
      change_tensor(pickle, begin, tensors, change, rewrite, parted);
      continue;
    }
    const bool is_scalar = kind == Kind::boolean || kind == Kind::integer || kind == Kind::floating;
    if (!is_scalar && kind != Kind::array) throw Error(Status::refused, change.meaning + ": the field holds no number");
    replacements.push_back(is_scalar ? replace_scalar(pickle.tree, change)
                                     : replace_array(pickle.tree, tensors, change));
    in_pickle.push_back(change);
  }
  const ByteView text = pickle.tree.bytes();
  const PickleLayout layout = survey_pickle(text, begin, pickle.end, pickle.hopped);
  // A parted tensor's description is longer, and a new storage is appended anyway: no room is looked for then.
  if (parted.empty() && !replacements.empty()) fit(layout, replacements, in_pickle);
  replacements.insert(replacements.end(), parted.begin(), parted.end());
  const auto frames = mended_frames(layout, replacements);
  replacements.insert(replacements.end(), frames.begin(), frames.end());
  rewrite.pickle = applied(text, {begin, pickle.end - begin}, std::move(replacements));
  return rewrite;
}

std::vector<Patch> differing_runs(ByteView before, ByteView after, std::uint64_t offset, std::string_view meaning) {
  // Runs that are this near to each other are one patch: fewer writes, and easier to read.
  static constexpr std::size_t gap = 8;
  std::vector<Patch> runs;
  std::size_t at = 0;
  while (at < before.size()) {
    if (before[at] == after[at]) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    for (std::size_t i = end; i < before.size() && i < end + gap; ++i) {
      if (before[i] != after[i]) end = i + 1;
    }
    const auto slice = [&](ByteView bytes) {
      return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(end));
    };
    runs.push_back({offset + at, slice(before), slice(after), std::string(meaning)});
    at = end;
  }
  return runs;
}

}  // namespace tare

#include "lib/container/pickle/read/legacy_stream.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/pickle/read/scan_ahead.hpp"

namespace tare {
namespace {

constexpr std::string_view magic_decimal = "119547037146038801333356";
/// The magic number as LONG1 has it: 0x1950a86a20f9469cfc6c in ten bytes, little-endian.
constexpr std::string_view magic_opcode = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t layout_version = 1001;

}  // namespace

bool starts_like_legacy_stream(ByteView head) {
  std::string_view text = as_text(head);
  constexpr std::size_t proto_size = 2;
  constexpr std::size_t frame_size = 9;
  if (text.size() < proto_size + frame_size || head[0] != static_cast<std::byte>(Opcode::proto)) return false;
  text.remove_prefix(proto_size);
  // Protocols from 4 on have the number in a frame.
  if (head[proto_size] == static_cast<std::byte>(Opcode::frame)) text.remove_prefix(frame_size);
  return text.starts_with(magic_opcode) && text.substr(magic_opcode.size()).starts_with('.');
}

std::string LegacyStorages::unused_key(std::string_view) const {
  throw Error(Status::refused, source_->name() + ": a legacy file has no room for the storage that a tensor needs",
              "load the checkpoint with torch and save it in the zip format first");
}

void LegacyStorages::fail(const std::string& problem) const {
  throw Error(Status::corrupt, fmt::format("{}: {}", source_->name(), problem),
              "the file is cut short or damaged; take another copy");
}

void LegacyStorages::name_all(const Tree& tree) {
  for (NodeId id = 0; id < tree.size(); ++id) {
    const auto named = storage_of(tree, id);
    if (!named) continue;
    if (named->type.size == 0) fail(fmt::format("storage {} is of an unknown type", named->storage));
    if (named->storage_count < 0) fail(fmt::format("storage {} of {} elements", named->storage, named->storage_count));
    const Storage storage{{}, static_cast<std::uint64_t>(named->storage_count), named->type};
    const auto [known, is_new] = storages_.try_emplace(named->storage, storage);
    if (!is_new && (known->second.count != storage.count || known->second.type.size != storage.type.size)) {
      fail(fmt::format("storage {} is named with two sizes", named->storage));
    }
  }
}

Span LegacyStorages::place(std::string_view key, const Storage& storage, std::uint64_t at) const {
  constexpr std::uint64_t count_size = 8;
  const Bytes stored = source_->read({at, count_size});
  const auto count = load_le<std::uint64_t>(stored.data());
  if (count != storage.count) {
    fail(fmt::format("storage {} at offset {} has {} elements; the object says {}", key, at, count, storage.count));
  }
  const std::uint64_t from = at + count_size;
  if (count > (source_->size() - from) / storage.type.size) {
    fail(fmt::format("storage {} at offset {}: {} elements of {} bytes pass the end", key, at, count,
                     storage.type.size));
  }
  return {from, count * storage.type.size};
}

std::uint64_t LegacyStorages::place_all(const Tree& keys, std::uint64_t at) {
  if (keys.kind(keys.root) != Kind::list) fail("its storage keys are no list");
  std::size_t placed = 0;
  for (const NodeId id : keys.items(keys.root)) {
    if (keys.kind(id) != Kind::string) fail("a storage key that is no text");
    const std::string_view key = keys.text(id);
    const auto found = storages_.find(key);
    if (found == storages_.end()) fail(fmt::format("storage {} is in the file, but the object never names it", key));
    if (found->second.data.offset != 0) fail(fmt::format("storage {} is listed twice", key));
    found->second.data = place(key, found->second, at);
    at = found->second.data.end();
    ++placed;
  }
  if (placed != storages_.size()) {
    fail(fmt::format("the object names {} storages, the file holds {}", storages_.size(), placed));
  }
  return at;
}

Span LegacyStorages::find(std::string_view key, std::uint64_t size) const {
  const auto found = storages_.find(key);
  if (found == storages_.end()) fail(fmt::format("no storage {}", key));
  if (found->second.data.size < size) {
    fail(fmt::format("storage {} has {} bytes; its tensor wants {}", key, found->second.data.size, size));
  }
  return found->second.data;
}

LegacyLayout read_legacy_layout(const Source& source) {
  LegacyLayout layout;
  ScanAhead ahead(source);
  std::uint64_t at = 0;
  for (Span& part : layout.parts) {
    const std::uint64_t end = ahead.end_of(at);
    part = {at, end - at};
    at = end;
  }
  const ByteView bytes = ahead.bytes();
  const Span keys = layout.parts[LegacyLayout::keys];
  const ByteView text = bytes.first(keys.offset);
  const ByteView key_text = bytes.subspan(keys.offset, keys.size);
  layout.text.assign(text.begin(), text.end());
  layout.key_text.assign(key_text.begin(), key_text.end());
  return layout;
}

Pickle read_legacy_part(const Source& source, const LegacyLayout& layout, LegacyLayout::Part part,
                        std::string_view what) {
  const Span span = layout.parts[part];
  const auto from = layout.text.begin() + static_cast<std::ptrdiff_t>(span.offset);
  auto text = part == LegacyLayout::keys
                  ? std::make_shared<const Bytes>(layout.key_text)
                  : std::make_shared<const Bytes>(from, from + static_cast<std::ptrdiff_t>(span.size));
  return read_pickle(std::move(text), fmt::format("{} ({})", source.name(), what), 0, {}, source.budget());
}

std::endian read_legacy_header(const Source& source, const LegacyLayout& layout) {
  const auto fail = [&](std::string_view problem) {
    throw Error(Status::corrupt, fmt::format("{}: {}", source.name(), problem),
                "torch could not load this file either");
  };
  const Pickle magic = read_legacy_part(source, layout, LegacyLayout::magic, "magic number");
  const Tree& number = magic.tree;
  if (number.kind(number.root) != Kind::integer || number.integer(number.root).text() != magic_decimal) {
    fail("its first pickle is not torch's magic number");
  }
  const Pickle protocol = read_legacy_part(source, layout, LegacyLayout::protocol, "protocol");
  const Tree& version = protocol.tree;
  if (version.kind(version.root) != Kind::integer || version.integer(version.root).value != layout_version) {
    fail("its second pickle is not the protocol 1001");
  }
  const Pickle system = read_legacy_part(source, layout, LegacyLayout::system, "system");
  const NodeId is_little = system.tree.find(system.tree.root, "little_endian");
  if (is_little == nowhere || system.tree.kind(is_little) != Kind::boolean) fail("does not tell its byte order");
  return system.tree[is_little].as.boolean ? std::endian::little : std::endian::big;
}

}  // namespace tare

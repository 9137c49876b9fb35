#include "lib/container/torch_legacy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/pickle.hpp"
#include "lib/container/pickle_change.hpp"
#include "lib/container/pickle_opcode.hpp"
#include "lib/container/pickle_tensor.hpp"
#include "lib/container/pickle_window.hpp"
#include "lib/container/preview.hpp"

namespace tare {
namespace {

constexpr std::string_view magic_decimal = "119547037146038801333356";
/// The magic number as LONG1 has it: 0x1950a86a20f9469cfc6c in ten bytes, little-endian.
constexpr std::string_view magic_opcode = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t layout_version = 1001;

struct Storage {
  Span data;  ///< in the file
  std::uint64_t count = 0;
  ElementType type;
};

/// Storages of an object, found where its pickle names them, then placed in the order of the key list.
class LegacyStorages final : public StorageTable {
 public:
  LegacyStorages(std::shared_ptr<const Source> source, std::endian order) : source_(std::move(source)), order_(order) {}

  void name_all(const Tree& tree);
  /// Gives every storage its place, from `at` on; returns the end of the last.
  std::uint64_t place_all(const Tree& keys, std::uint64_t at);

  [[nodiscard]] Span find(std::string_view key, std::uint64_t size) const override;
  [[nodiscard]] std::string unused_key(std::string_view) const override {
    throw Error(Status::refused, source_->name() + ": a legacy file has no room for the storage that a tensor needs",
                "load the checkpoint with torch and save it in the zip format first");
  }
  [[nodiscard]] std::endian order() const override { return order_; }
  [[nodiscard]] const Source& source() const override { return *source_; }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: {}", source_->name(), problem),
                "the file is cut short or damaged; take another copy");
  }
  [[nodiscard]] Span place(std::string_view key, const Storage& storage, std::uint64_t at) const;

  std::shared_ptr<const Source> source_;
  std::endian order_;
  std::unordered_map<std::string_view, Storage, KeyedHash> storages_;  ///< keys are in the object's text
};

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

/// Where the five pickles stand; their text.
struct Layout {
  enum Part : std::size_t { magic, protocol, system, object, keys, count };
  std::array<Span, Part::count> parts;
  Bytes text;  ///< the file from its first byte to the end of the object
  Bytes key_text;
};

Layout read_layout(const Source& source) {
  Layout layout;
  PickleWindow window(source);
  std::uint64_t at = 0;
  for (Span& part : layout.parts) {
    const std::uint64_t end = window.end_of(at);
    part = {at, end - at};
    at = end;
  }
  const ByteView bytes = window.bytes();
  const Span keys = layout.parts[Layout::keys];
  const ByteView text = bytes.first(keys.offset);
  const ByteView key_text = bytes.subspan(keys.offset, keys.size);
  layout.text.assign(text.begin(), text.end());
  layout.key_text.assign(key_text.begin(), key_text.end());
  return layout;
}

Pickle read_part(const Source& source, const Layout& layout, Layout::Part part, std::string_view what) {
  const Span span = layout.parts[part];
  const auto from = layout.text.begin() + static_cast<std::ptrdiff_t>(span.offset);
  auto text = part == Layout::keys ? std::make_shared<const Bytes>(layout.key_text)
                                   : std::make_shared<const Bytes>(from, from + static_cast<std::ptrdiff_t>(span.size));
  return read_pickle(std::move(text), fmt::format("{} ({})", source.name(), what), 0, {}, source.budget());
}

/// Checks the first three pickles. Returns the byte order of the machine that wrote the file.
std::endian read_header(const Source& source, const Layout& layout) {
  const auto fail = [&](std::string_view problem) {
    throw Error(Status::corrupt, fmt::format("{}: {}", source.name(), problem),
                "torch could not load this file either");
  };
  const Pickle magic = read_part(source, layout, Layout::magic, "magic number");
  const Tree& number = magic.tree;
  if (number.kind(number.root) != Kind::integer || number.integer(number.root).text() != magic_decimal) {
    fail("its first pickle is not torch's magic number");
  }
  const Pickle protocol = read_part(source, layout, Layout::protocol, "protocol");
  const Tree& version = protocol.tree;
  if (version.kind(version.root) != Kind::integer || version.integer(version.root).value != layout_version) {
    fail("its second pickle is not the protocol 1001");
  }
  const Pickle system = read_part(source, layout, Layout::system, "system");
  const NodeId is_little = system.tree.find(system.tree.root, "little_endian");
  if (is_little == nowhere || system.tree.kind(is_little) != Kind::boolean) fail("does not tell its byte order");
  return system.tree[is_little].as.boolean ? std::endian::little : std::endian::big;
}

class TorchLegacy final : public Container {
 public:
  TorchLegacy(std::shared_ptr<const Source> source, Layout layout)
      : source_(std::move(source)),
        storages_(source_, read_header(*source_, layout)),
        object_(layout.parts[Layout::object]),
        keys_(read_part(*source_, layout, Layout::keys, "storage keys")),
        text_(std::make_shared<const Bytes>(std::move(layout.text))),
        pickle_(read_pickle(text_, source_->name(), object_.offset, {}, source_->budget())),
        tensors_(std::make_shared<PickleTensors>(pickle_.tree, &storages_)) {
    pickle_.tree.install(tensors_);
    storages_.name_all(pickle_.tree);
    const std::uint64_t end = storages_.place_all(keys_.tree, layout.parts[Layout::keys].end());
    if (end == source_->size()) return;
    pickle_.findings.push_back({Severity::warning,
                                "trailing-bytes",
                                fmt::format("{} bytes stand behind the last storage", source_->size() - end),
                                {},
                                {}});
  }

  [[nodiscard]] std::string_view format() const override { return "torch_legacy"; }
  [[nodiscard]] const Tree& tree() const override { return pickle_.tree; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return pickle_.findings; }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return pickle_.globals; }
  [[nodiscard]] bool can_add() const override { return true; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    const auto direct = without_nesting(tree(), changes, source_->name());
    const PickleRewrite rewrite = rewrite_pickle(pickle_, object_.offset, *tensors_, direct);
    const ByteView old_pickle = ByteView(*text_).subspan(object_.offset, object_.size);
    FileChange change = change_plain_file(*source_, object_.offset, old_pickle, rewrite, joined_meaning(changes));
    if (rewrite.names_other_storages) require_readable(change);
    return change;
  }

 private:
  /// The file lists its storages apart: torch loads it only where the object names the same ones.
  void require_readable(const FileChange& change) const {
    try {
      open_torch_legacy(std::make_shared<PreviewSource>(source_, change));
    } catch (const Error&) {
      throw Error(Status::refused,
                  source_->name() + ": tensors come or go with the value, and this form lists them apart",
                  "load the checkpoint with torch and save it anew, as a zip");
    }
  }

  std::shared_ptr<const Source> source_;
  LegacyStorages storages_;
  Span object_;
  Pickle keys_;
  std::shared_ptr<const Bytes> text_;
  Pickle pickle_;
  std::shared_ptr<PickleTensors> tensors_;
};

}  // namespace

bool starts_like_torch_legacy(ByteView head) {
  std::string_view text = as_text(head);
  constexpr std::size_t proto_size = 2;
  constexpr std::size_t frame_size = 9;
  if (text.size() < proto_size + frame_size || head[0] != static_cast<std::byte>(Opcode::proto)) return false;
  text.remove_prefix(proto_size);
  // Protocols from 4 on have the number in a frame.
  if (head[proto_size] == static_cast<std::byte>(Opcode::frame)) text.remove_prefix(frame_size);
  return text.starts_with(magic_opcode) && text.substr(magic_opcode.size()).starts_with('.');
}

StreamedStorage read_any_stream(ByteView stream) {
  const auto source = std::make_shared<const MemorySource>("a storage's stream", Bytes(stream.begin(), stream.end()));
  const Layout layout = read_layout(*source);
  LegacyStorages storages(source, read_header(*source, layout));
  const Pickle object = read_part(*source, layout, Layout::object, "object");
  const auto named = storage_of(object.tree, object.tree.root);
  if (!named) throw Error(Status::corrupt, source->name() + " holds no storage");
  storages.name_all(object.tree);
  const Pickle keys = read_part(*source, layout, Layout::keys, "storage keys");
  storages.place_all(keys.tree, layout.parts[Layout::keys].end());
  return {named->type, named->storage_count, storages.order(), storages.find(named->storage, 0)};
}

std::unique_ptr<Container> open_torch_legacy(const std::shared_ptr<const Source>& source) {
  Layout layout = read_layout(*source);
  return std::make_unique<TorchLegacy>(source, std::move(layout));
}

}  // namespace tare

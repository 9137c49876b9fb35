#include "lib/container/pickle/read/storage_stream.hpp"

#include <memory>
#include <optional>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/legacy_stream.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/pickle/read/tensor.hpp"

namespace tare {

using namespace std::string_view_literals;

const std::string_view usual_stream_beginning =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
    "\x80\x02M\xe9\x03."
    "\x80\x02}q\x00(X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03X\x0d\x00\x00\x00little_endianq\x02\x88"
    "X\x0a\x00\x00\x00type_sizesq\x03}q\x04(X\x05\x00\x00\x00shortq\x05K\x02X\x03\x00\x00\x00intq\x06K\x04"
    "X\x04\x00\x00\x00longq\x07K\x04uu."sv;

namespace {

/// Takes opcodes one after the other as long as they are the expected ones; what fills memo slots is passed over.
class UsualPickle {
 public:
  UsualPickle(ByteView text, std::uint64_t begin) : scanner_(text, "", begin) {}

  [[nodiscard]] bool takes(Opcode code) { return next().code == code; }
  [[nodiscard]] std::string_view text(Opcode code) {
    const PickleOp op = next();
    is_usual = is_usual && op.code == code;
    return as_text(op.argument);
  }
  [[nodiscard]] std::int64_t count() {
    const PickleOp op = next();
    count_op = op.span();
    switch (op.code) {
      case Opcode::binint1:
        return load_le<std::uint8_t>(op.argument.data());
      case Opcode::binint2:
        return load_le<std::uint16_t>(op.argument.data());
      case Opcode::binint:
        return load_le<std::int32_t>(op.argument.data());
      default:
        is_usual = false;
        return 0;
    }
  }
  [[nodiscard]] std::uint64_t position() const { return scanner_.position(); }

  PickleOp next() {
    PickleOp op = scanner_.next();
    while (op.code == Opcode::binput) op = scanner_.next();
    return op;
  }

  bool is_usual = true;
  Span count_op;

 private:
  PickleScanner scanner_;
};

/// Reads a stream of any pickler. Throws `corrupt` where its object is no storage alone.
StreamedStorage read_any_stream(ByteView stream) {
  const auto source = std::make_shared<const MemorySource>("a storage's stream", Bytes(stream.begin(), stream.end()));
  const LegacyLayout layout = read_legacy_layout(*source);
  LegacyStorages storages(source, read_legacy_header(*source, layout));
  const Pickle object = read_legacy_part(*source, layout, LegacyLayout::object, "object");
  const auto named = storage_of(object.tree, object.tree.root);
  if (!named) throw Error(Status::corrupt, source->name() + " holds no storage");
  storages.name_all(object.tree);
  const Pickle keys = read_legacy_part(*source, layout, LegacyLayout::keys, "storage keys");
  storages.place_all(keys.tree, layout.parts[LegacyLayout::keys].end());
  return {named->type, named->storage_count, storages.order(), storages.find(named->storage, 0)};
}

}  // namespace

std::optional<UsualStream> read_usual_stream(ByteView stream) {
  if (!as_text(stream).starts_with(usual_stream_beginning)) return std::nullopt;
  UsualPickle pickle(stream, usual_stream_beginning.size());
  StreamedStorage storage;
  if (!pickle.takes(Opcode::proto) || !pickle.takes(Opcode::mark)) return std::nullopt;
  if (pickle.text(Opcode::binunicode) != "storage") return std::nullopt;
  const std::string_view type = pickle.text(Opcode::global);
  const std::string_view key = pickle.text(Opcode::binunicode);
  static_cast<void>(pickle.text(Opcode::binunicode));  // the device
  storage.count = pickle.count();
  if (!pickle.takes(Opcode::none) || !pickle.takes(Opcode::tuple) || !pickle.takes(Opcode::binpersid) ||
      !pickle.takes(Opcode::stop) || !pickle.takes(Opcode::proto) || !pickle.takes(Opcode::empty_list)) {
    return std::nullopt;
  }
  if (pickle.text(Opcode::binunicode) != key || !pickle.takes(Opcode::append) || !pickle.takes(Opcode::stop)) {
    return std::nullopt;
  }
  storage.type = storage_element(type.substr(type.find('\n') + 1));
  if (!pickle.is_usual || storage.type.size == 0 || storage.count < 0) return std::nullopt;
  // The count again, and the elements.
  constexpr std::uint64_t count_size = 8;
  const std::uint64_t from = pickle.position() + count_size;
  const auto count = static_cast<std::uint64_t>(storage.count);
  if (from > stream.size() || count > (stream.size() - from) / storage.type.size ||
      load_le<std::uint64_t>(stream.data() + pickle.position()) != count) {
    return std::nullopt;
  }
  storage.data = {from, count * storage.type.size};
  return UsualStream{storage, pickle.count_op};
}

StreamedStorage read_streamed_storage(ByteView stream) {
  const auto usual = read_usual_stream(stream);
  return usual ? usual->storage : read_any_stream(stream);
}

}  // namespace tare

// Formats: the msgpack specification; arrays as flax 0.12 packs them (flax/serialization.py): ext 1 of a packed (shape,
// dtype name, bytes).
#include "lib/container/msgpack/new_msgpack.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>

#include "lib/base/error.hpp"

namespace tare {
namespace {

class Packer {
 public:
  void pack(const Document& document) {
    std::visit([this](const auto& value) { put(value); }, document.value);
  }
  Bytes take() { return std::move(bytes_); }

 private:
  void byte(std::uint64_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void big_endian(std::uint64_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) byte(value >> shift);
  }
  void raw(ByteView bytes) { std::copy(bytes.begin(), bytes.end(), std::back_inserter(bytes_)); }

  /// A lead byte for a size of 8 bits, of which the next two are those for 16 and 32; and the size.
  void sized(std::uint8_t lead, std::uint64_t size) {
    const int wider = size < 0x100 ? 0 : size < 0x10000 ? 1 : 2;
    if (size > 0xffffffff) throw Error(Status::refused, "msgpack holds at most 4 GiB in one piece");
    byte(static_cast<std::uint64_t>(lead + wider));
    big_endian(size, 1 << wider);
  }
  /// How many values follow: in the lead byte up to 15, else in 16 or 32 bits, of which `wide` and the next are the
  /// lead.
  void counted(std::uint8_t fixed, std::uint8_t wide, std::uint64_t count) {
    if (count < 0x10) return byte(fixed | count);
    const bool is_wider = count >= 0x10000;
    byte(static_cast<std::uint64_t>(wide + is_wider));
    big_endian(count, is_wider ? 4 : 2);
  }
  void natural(std::uint64_t value) {
    if (value < 0x80) return byte(value);
    byte(0xcf);
    big_endian(value, 8);
  }

  void put(std::monostate) { byte(0xc0); }
  void put(bool value) { byte(value ? 0xc3 : 0xc2); }
  void put(std::int64_t value) {
    if (value >= 0 && value < 0x80) return byte(static_cast<std::uint64_t>(value));
    byte(0xd3);
    big_endian(static_cast<std::uint64_t>(value), 8);
  }
  void put(double value) {
    byte(0xcb);
    big_endian(std::bit_cast<std::uint64_t>(value), 8);
  }
  void put(const std::string& value) { text(value); }
  void put(const DocumentMap& map) {
    counted(0x80, 0xde, map.size());
    for (const auto& [key, value] : map) {
      text(key);
      pack(value);
    }
  }
  void put(const DocumentTensor& tensor) {
    Packer inner;
    inner.counted(0x90, 0xdc, 3);
    inner.counted(0x90, 0xdc, tensor.shape.size());
    for (const std::int64_t size : tensor.shape) inner.natural(static_cast<std::uint64_t>(size));
    inner.text(tensor.type.name);
    inner.sized(0xc4, tensor.elements.size());
    inner.raw(tensor.elements);
    sized(0xc7, inner.bytes_.size());
    byte(1);
    raw(inner.bytes_);
  }
  void put(const DocumentObject& object) { refuse(object.name); }
  void put(const DocumentName& name) { refuse(name.name); }
  void put(const DocumentCall& call) { refuse(call.name); }
  void put(const DocumentStream&) { refuse("io.BytesIO"); }

  void text(std::string_view value) {
    sized(0xd9, value.size());
    raw(as_bytes(value));
  }
  [[noreturn]] static void refuse(const std::string& name) {
    throw Error(Status::refused, name + ": msgpack holds no objects of classes");
  }

  Bytes bytes_;
};

}  // namespace

Bytes new_msgpack(const Document& document) {
  Packer packer;
  packer.pack(document);
  return packer.take();
}

}  // namespace tare

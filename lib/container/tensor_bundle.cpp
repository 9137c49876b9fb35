// The layout: data blocks, index block, footer. A block is followed by a type byte and the masked CRC-32C of both. The
// footer has two handles (offset and size as varints), padding and a magic number. An index block's values are the
// handles of data blocks.
#include "lib/container/tensor_bundle.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/crc32c.hpp"
#include "lib/container/recognised.hpp"
#include "lib/container/varint.hpp"

namespace tare {
namespace {

constexpr std::uint64_t footer_size = 48;
constexpr std::uint64_t magic_size = 8;
constexpr std::uint64_t trailer_size = 5;
constexpr std::uint64_t magic = 0xdb4775248b80fb57;

class TableCheck {
 public:
  explicit TableCheck(const Source& source) : source_(source) {}

  void run() const {
    const Bytes footer = source_.read({source_.size() - footer_size, footer_size});
    ByteView handles = ByteView(footer).first(footer_size - magic_size);
    read_handle(handles);  // of the metaindex, which is empty
    const Bytes index = read_block(read_handle(handles));
    if (!index.empty()) check_data_blocks(index);
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(Status::corrupt, fmt::format("{}: TensorFlow checkpoint index: {}", source_.name(), problem),
                "the file is damaged; take another copy");
  }

  Span read_handle(ByteView& from) const {
    const auto offset = take_varint(from);
    const auto size = take_varint(from);
    if (!offset || !size) fail("a block's place that is none");
    return {*offset, *size};
  }

  /// The block's bytes; none where it is compressed, which TensorFlow never does.
  [[nodiscard]] Bytes read_block(Span place) const {
    const std::uint64_t end = source_.size() - footer_size;
    if (place.offset > end || place.size > end - place.offset || end - place.offset - place.size < trailer_size ||
        place.size > limits::max_small_text_bytes) {
      fail(fmt::format("a block of {} bytes at offset {}", place.size, place.offset));
    }
    Bytes block = source_.read({place.offset, place.size + trailer_size});
    const ByteView covered = ByteView(block).first(place.size + 1);
    if (load_le<std::uint32_t>(block.data() + covered.size()) != masked_crc32c(covered)) {
      fail(fmt::format("the checksum of the block at offset {} is wrong", place.offset));
    }
    const bool is_plain = block[place.size] == std::byte{0};
    block.resize(is_plain ? place.size : 0);
    return block;
  }

  void check_data_blocks(ByteView index) const {
    if (index.size() < 4) fail("an index block without restart points");
    const std::uint64_t restarts = load_le<std::uint32_t>(index.data() + index.size() - 4);
    if (restarts > (index.size() - 4) / 4) fail("an index block without restart points");
    ByteView rows = index.first(index.size() - 4 - 4 * restarts);
    while (!rows.empty()) {
      const auto shared = take_varint(rows);
      const auto rest = take_varint(rows);
      const auto size = take_varint(rows);
      if (!shared || !rest || !size || *rest > rows.size() || *size > rows.size() - *rest)
        fail("a row passes its block");
      ByteView handle = rows.subspan(*rest, *size);
      rows = rows.subspan(*rest + *size);
      const Span place = read_handle(handle);
      if (!handle.empty()) fail("an index row that is no block's place");
      static_cast<void>(read_block(place));
    }
  }

  const Source& source_;
};

}  // namespace

bool ends_like_tensor_bundle(const Source& source) {
  if (source.size() < footer_size) return false;
  const Bytes end = source.read({source.size() - magic_size, magic_size});
  return load_le<std::uint64_t>(end.data()) == magic;
}

std::unique_ptr<Container> open_tensor_bundle(const std::shared_ptr<const Source>& source) {
  TableCheck(*source).run();
  return recognised("tensor_bundle", "TensorFlow checkpoint index");
}

}  // namespace tare

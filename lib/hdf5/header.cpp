#include "lib/hdf5/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

namespace tare {
namespace {

constexpr std::size_t max_blocks = 256;
constexpr std::uint64_t old_prefix = 16;
constexpr std::string_view header_signature = "OHDR";
constexpr std::string_view continuation_signature = "OCHK";
constexpr std::uint64_t shared_flag = 2;

class HeaderReader {
 public:
  HeaderReader(Hdf5File& file, std::uint64_t address) : file_(file), address_(address) {}

  Hdf5Header read() {
    const Bytes start = file_.look(address_, std::min(old_prefix, file_.left(address_)));
    is_new_ = as_text(start).starts_with(header_signature);
    is_new_ ? read_new() : read_old(start);
    while (!continuations_.empty()) {
      const Span next = continuations_.front();
      continuations_.pop();
      read_continuation(next);
    }
    return std::move(header_);
  }

 private:
  void read_old(const Bytes& prefix) {
    Hdf5Fields fields(prefix, "object header");
    if (prefix.size() < old_prefix || fields.number(1) != 1) throw Hdf5NotRead{"what it leads to is no object header"};
    fields.skip(7);
    const std::uint64_t size = fields.number(4);
    add_block({address_, file_.read(address_, prefix.size() + size)}, prefix.size(), 0);
  }

  void read_new() {
    constexpr std::uint64_t longest_prefix = 34;  // times, phase change values, 8 bytes of size
    const Bytes start = file_.look(address_, std::min(longest_prefix, file_.left(address_)));
    Hdf5Fields fields(start, "object header");
    fields.skip(header_signature.size());
    if (fields.number(1) != 2) throw Hdf5NotRead{"an object header of an unknown version"};
    flags_ = fields.number(1);
    fields.skip(((flags_ & 0x20) != 0 ? 16 : 0) + ((flags_ & 0x10) != 0 ? 4 : 0));
    const std::uint64_t size = fields.number(std::size_t{1} << (flags_ & 3));
    const std::size_t prefix = start.size() - fields.rest().size();
    if (size > file_.source().size()) throw Hdf5NotRead{fmt::format("an object header of {} bytes", size)};
    Hdf5Block block{address_, file_.read(address_, prefix + size + hdf5_checksum_size), true};
    file_.require_checksum(block.bytes, address_, "object header");
    add_block(std::move(block), prefix, hdf5_checksum_size);
  }

  void read_continuation(Span place) {
    const bool is_known = std::any_of(header_.blocks.begin(), header_.blocks.end(),
                                      [&](const Hdf5Block& block) { return block.address == place.offset; });
    if (is_known || header_.blocks.size() == max_blocks) {
      file_.warn("header-cycle", fmt::format("the object header at offset {} goes on in itself, or without end",
                                             file_.offset(address_)));
      return;
    }
    Hdf5Block block{place.offset, file_.read(place.offset, place.size), is_new_};
    if (!is_new_) {
      add_block(std::move(block), 0, 0);
      return;
    }
    if (block.bytes.size() < continuation_signature.size() + hdf5_checksum_size) {
      throw Hdf5NotRead{"an object header that goes on in too few bytes"};
    }
    if (!as_text(block.bytes).starts_with(continuation_signature)) {
      file_.fail(fmt::format("no continuation of a header at offset {}", file_.offset(place.offset)));
    }
    file_.require_checksum(block.bytes, place.offset, "object header's continuation");
    add_block(std::move(block), continuation_signature.size(), hdf5_checksum_size);
  }

  void add_block(Hdf5Block block, std::size_t begin, std::size_t behind) {
    file_.source().budget()->take_memory(block.bytes.size());
    header_.blocks.push_back(std::move(block));
    const ByteView bytes = header_.blocks.back().bytes;
    read_messages(bytes.subspan(begin, bytes.size() - begin - behind), begin);
  }

  void read_messages(ByteView bytes, std::size_t begin) {
    constexpr std::uint64_t has_creation_order = 4;
    const std::size_t head = !is_new_ ? 8 : (flags_ & has_creation_order) != 0 ? 6 : 4;
    for (std::size_t at = 0; bytes.size() - at >= head;) {
      Hdf5Fields fields(bytes.subspan(at), "object header");
      const std::uint64_t type = fields.number(is_new_ ? 1 : 2);
      const std::uint64_t size = fields.number(2);
      const std::uint64_t flags = fields.number(1);
      at += head;
      if (size > bytes.size() - at) throw Hdf5NotRead{"a message of its header passes the header's end"};
      const Hdf5Message message{static_cast<Hdf5MessageType>(type), (flags & shared_flag) != 0,
                                header_.blocks.size() - 1, begin + at, size};
      if (message.type == Hdf5MessageType::continuation) {
        Hdf5Fields place(bytes.subspan(at, size), "header's continuation");
        const std::uint64_t address = place.address();
        continuations_.push({address, place.length()});
      } else {
        file_.source().budget()->take_memory(sizeof message);
        header_.messages.push_back(message);
      }
      at += size;
    }
  }

  Hdf5File& file_;
  std::uint64_t address_;
  bool is_new_ = false;
  std::uint64_t flags_ = 0;
  Hdf5Header header_;
  std::queue<Span> continuations_;  ///< not read yet; reading one may find others
};

}  // namespace

const Hdf5Message* Hdf5Header::find(Hdf5MessageType type) const {
  const auto found =
      std::find_if(messages.begin(), messages.end(), [&](const Hdf5Message& message) { return message.type == type; });
  return found == messages.end() ? nullptr : &*found;
}

const Hdf5Message& Hdf5Header::require(Hdf5MessageType type, std::string_view what) const {
  const Hdf5Message* message = find(type);
  if (message == nullptr) throw Hdf5NotRead{fmt::format("a dataset without {}", what)};
  if (message->is_shared) throw Hdf5NotRead{fmt::format("a dataset whose {} stands elsewhere", what)};
  return *message;
}

Hdf5Header read_hdf5_header(Hdf5File& file, std::uint64_t address) {
  return HeaderReader(file, address).read();
}

}  // namespace tare

#include "lib/container/compressed.hpp"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t chunk_bytes = 64 << 10;
/// What the highest preset needs to unpack, and a little.
constexpr std::uint64_t lzma_memory = std::uint64_t{72} << 20;

enum class Progress : std::uint8_t { more, end, broken };

/// Takes packed bytes as they come and hands out what they unpack to.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  /// Uses up the front of `packed` and fills the front of `room`, and takes that off both.
  virtual Progress step(ByteView& packed, std::span<std::byte>& room) = 0;
};

class Inflate final : public Unpacker {
 public:
  Inflate() {
    constexpr int zlib_or_gzip = 32;
    if (inflateInit2(&stream_, MAX_WBITS + zlib_or_gzip) != Z_OK) throw std::bad_alloc();
  }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;
  ~Inflate() override { inflateEnd(&stream_); }

  Progress step(ByteView& packed, std::span<std::byte>& room) override {
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    packed = packed.last(stream_.avail_in);
    room = room.last(stream_.avail_out);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    return answer == Z_STREAM_END ? Progress::end : answer == Z_OK ? Progress::more : Progress::broken;
  }

 private:
  z_stream stream_{};
};

/// The old format alone: xz brings checksums that choose their instructions while a library is loaded, and libtare runs
/// nothing then.
class Lzma final : public Unpacker {
 public:
  Lzma() {
    if (lzma_alone_decoder(&stream_, lzma_memory) != LZMA_OK) throw std::bad_alloc();
  }
  Lzma(const Lzma&) = delete;
  Lzma& operator=(const Lzma&) = delete;
  ~Lzma() override { lzma_end(&stream_); }

  Progress step(ByteView& packed, std::span<std::byte>& room) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(room.data());
    stream_.avail_out = room.size();
    const lzma_ret answer = lzma_code(&stream_, LZMA_RUN);
    packed = packed.last(stream_.avail_in);
    room = room.last(stream_.avail_out);
    if (answer == LZMA_MEM_ERROR) throw std::bad_alloc();
    return answer == LZMA_STREAM_END ? Progress::end : answer == LZMA_OK ? Progress::more : Progress::broken;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

bool is_zlib(std::string_view head) {
  if (head.size() < 2 || head[0] != '\x78') return false;  // deflate with the usual window
  const auto flags = static_cast<unsigned char>(head[1]);
  constexpr unsigned has_dictionary = 0x20;
  return (0x78U * 256 + flags) % 31 == 0 && (flags & has_dictionary) == 0;
}

/// The old format has no signature: the usual properties, a dictionary of less than 4 GiB, and a size that is left
/// open, as Python writes it.
bool is_lzma(std::string_view head) {
  constexpr std::string_view open_size = "\xff\xff\xff\xff\xff\xff\xff\xff";
  return head.starts_with("\x5d\0\0"sv) && head.size() >= 13 && head.substr(5, 8) == open_size;
}

struct CompressedFormat {
  std::string_view name;
  bool (*matches)(std::string_view head);
  std::unique_ptr<Unpacker> (*unpacker)();
};

constexpr auto compressed_formats = std::to_array<CompressedFormat>({
    {"gzip", [](std::string_view head) { return head.starts_with("\x1f\x8b\x08"); },
     []() -> std::unique_ptr<Unpacker> { return std::make_unique<Inflate>(); }},
    {"zlib", is_zlib, []() -> std::unique_ptr<Unpacker> { return std::make_unique<Inflate>(); }},
    {"lzma", is_lzma, []() -> std::unique_ptr<Unpacker> { return std::make_unique<Lzma>(); }},
});

const CompressedFormat* compression_of(ByteView head) {
  const auto found =
      std::ranges::find_if(compressed_formats, [&](const CompressedFormat& c) { return c.matches(as_text(head)); });
  return found == compressed_formats.end() ? nullptr : &*found;
}

/// Every byte of `source` unpacks, and there is nothing behind the end; else the offset from which on that is not so.
std::optional<std::uint64_t> unpack_each(const Source& source, const CompressedFormat& compression,
                                         const std::function<void(ByteView)>& take) {
  const auto unpacker = compression.unpacker();
  Bytes out(chunk_bytes);
  Progress progress = Progress::more;
  for (std::uint64_t offset = 0; progress == Progress::more;) {
    const Bytes in = source.read({offset, std::min<std::uint64_t>(chunk_bytes, source.size() - offset)});
    if (in.empty()) return offset;
    ByteView packed = in;
    while (progress == Progress::more && !packed.empty()) {
      std::span<std::byte> room = out;
      progress = unpacker->step(packed, room);
      take(ByteView(out).first(out.size() - room.size()));
      if (progress == Progress::broken) return offset + in.size() - packed.size();
    }
    offset += in.size();
    if (progress == Progress::end && (!packed.empty() || offset < source.size())) return offset - packed.size();
  }
  return std::nullopt;
}

const CompressedFormat& require_compression(const Source& source) {
  return *compression_of(source.read({0, std::min(source.size(), std::uint64_t{16})}));
}

class Compressed final : public Container {
 public:
  explicit Compressed(std::shared_ptr<const Source> source)
      : source_(std::move(source)), compression_(require_compression(*source_)) {
    const auto [inside, problem] = unpack(source_);
    if (!problem.empty()) throw Error(Status::corrupt, problem, "take another copy");
    if (compression_of(inside->read({0, std::min(inside->size(), std::uint64_t{16})})) != nullptr) {
      throw Error(Status::refused, inside->name() + ": is compressed once more", "unpack it first");
    }
    inside_ = open_container(inside);
  }

  [[nodiscard]] std::string_view format() const override { return compression_.name; }
  [[nodiscard]] const Tree& tree() const override { return inside_->tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return inside_->findings(); }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return inside_->globals(); }
  [[nodiscard]] FileChange change(std::span<const NodeChange>) const override {
    throw Error(Status::refused,
                fmt::format("{}: is compressed as a whole ({}), so that no value in it has bytes of its own",
                            source_->name(), compression_.name),
                "unpack it, edit that, and pack it again");
  }

 private:
  std::shared_ptr<const Source> source_;
  const CompressedFormat& compression_;
  std::unique_ptr<Container> inside_;
};

}  // namespace

bool starts_like_compressed(ByteView head) {
  return compression_of(head) != nullptr;
}

std::unique_ptr<Container> open_compressed(const std::shared_ptr<const Source>& source) {
  return std::make_unique<Compressed>(source);
}

Unpacked unpack(const std::shared_ptr<const Source>& source) {
  const CompressedFormat& compression = require_compression(*source);
  // Counted first, then kept: nothing is allocated that the file's budget does not allow.
  std::uint64_t size = 0;
  const auto broken = unpack_each(*source, compression, [&](ByteView bytes) {
    source->budget()->take_unpacked(bytes.size());
    size += bytes.size();
  });
  Bytes all;
  all.reserve(size);
  unpack_each(*source, compression, [&](ByteView bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return {
      std::make_shared<MemorySource>(fmt::format("{} (unpacked)", source->name()), std::move(all), source->budget()),
      broken ? fmt::format("{}: {}: does not unpack at offset {}", source->name(), compression.name, *broken) : ""};
}

}  // namespace tare

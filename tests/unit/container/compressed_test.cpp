// Files that are compressed as a whole. They are packed here by the libraries that Python's modules of these names use.
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <functional>
#include <random>

#include "lib/base/error.hpp"
#include "lib/container/compressed.hpp"
#include "lib/container/unpacking_stream.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

constexpr const char* plain_file = "numpy/pickle_protocol4/state.pkl";

Bytes deflated(const Bytes& bytes, int window) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes packed(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// Bytes that pack well.
Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 251 * (i / 1000 % 7));
  return bytes;
}

/// Bytes that do not pack.
Bytes noise(std::size_t size) {
  std::mt19937 random(1);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

Bytes zlib(const Bytes& bytes) {
  return deflated(bytes, MAX_WBITS);
}

Bytes gzip(const Bytes& bytes) {
  return deflated(bytes, MAX_WBITS + 16);
}

Bytes lzma(const Bytes& bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  lzma_options_lzma options{};
  REQUIRE_FALSE(lzma_lzma_preset(&options, 6));
  REQUIRE(lzma_alone_encoder(&stream, &options) == LZMA_OK);
  Bytes packed(bytes.size() + 1024);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
  stream.avail_out = packed.size();
  REQUIRE(lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END);
  packed.resize(stream.total_out);
  lzma_end(&stream);
  return packed;
}

struct Packer {
  const char* name;
  Bytes (*pack)(const Bytes&);
};

constexpr Packer packers[] = {{"zlib", zlib}, {"gzip", gzip}, {"lzma", lzma}};

Status status_of(const Bytes& image) {
  return test::status_of([&] { open_image(image); });
}

}  // namespace

TEST_CASE("what is compressed as a whole reads as it does unpacked, and is not changed") {
  const Bytes plain = corpus_bytes(plain_file);
  for (const Packer& packer : packers) {
    INFO(packer.name);
    const auto packed = open_image(packer.pack(plain));
    CHECK(packed->format() == packer.name);
    const auto unpacked = open_image(plain);
    CHECK(differing(unpacked->tree(), packed->tree()).empty());
    CHECK(packed->globals() == unpacked->globals());
    const NodeChange change{packed->tree().root, 1.0, "a value"};
    CHECK_THROWS_AS(packed->change({&change, 1}), Error);
  }
}

TEST_CASE("every byte of a compressed file counts") {
  const Bytes plain = corpus_bytes(plain_file);
  for (const Packer& packer : packers) {
    INFO(packer.name);
    const Bytes whole = packer.pack(plain);
    for (std::size_t size = 16; size < whole.size(); ++size) {
      CHECK(status_of(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))) == Status::corrupt);
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    CHECK(status_of(longer) == Status::corrupt);
  }
}

TEST_CASE("a small file that unpacks into a large one, or into a compressed one, is refused") {
  const Bytes zeros(std::size_t{96} << 20);
  for (const Packer& packer : packers) {
    INFO(packer.name);
    CHECK(status_of(packer.pack(zeros)) == Status::refused);
    CHECK(status_of(packer.pack(gzip(corpus_bytes(plain_file)))) == Status::refused);
  }
}

TEST_CASE(
    "where packed bytes break off, or others stand behind their end, that byte is told, and what came before kept") {
  for (const std::size_t size : {std::size_t{50}, std::size_t{700'000}}) {
    const Bytes plain = pattern(size);
    for (const Packer& packer : packers) {
      INFO(packer.name << ", " << size << " bytes");
      const Bytes whole = packer.pack(plain);
      const auto unpacked = [](Bytes bytes) { return unpack(std::make_shared<MemorySource>("x", std::move(bytes))); };
      const auto breaks_at = [&](std::size_t offset) {
        return "x: " + std::string(packer.name) + ": does not unpack at offset " + std::to_string(offset);
      };
      const auto inside = [](const Unpacked& made) { return made.source->read({0, made.source->size()}); };
      const Unpacked sound = unpacked(whole);
      CHECK(sound.problem.empty());
      CHECK(inside(sound) == plain);
      for (const std::size_t behind : {1U, 1000U, 300'000U}) {
        Bytes longer = whole;
        longer.resize(whole.size() + behind);
        const Unpacked made = unpacked(longer);
        CHECK(made.problem == breaks_at(whole.size()));
        CHECK(inside(made) == plain);
      }
      const std::size_t kept = whole.size() - 4;
      CHECK(unpacked({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)}).problem == breaks_at(kept));
    }
  }
}

TEST_CASE("a file counts as compressed by its first bytes, and by one less of them not") {
  using namespace std::string_literals;
  const auto is_packed = [](const std::string& head) { return starts_like_compressed(as_bytes(head)); };
  for (const std::string& head : {"\x78\x01"s, "\x78\x5e"s, "\x78\x9c"s, "\x78\xda"s, "\x1f\x8b\x08"s,
                                  "\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff"s}) {
    CHECK(is_packed(head));
    CHECK(is_packed(head + "more"));
    CHECK_FALSE(is_packed(head.substr(0, head.size() - 1)));
  }
  CHECK_FALSE(is_packed("\x78\x02"));  // its check does not hold
  CHECK_FALSE(is_packed("\x78\xbb"));  // it holds, and wants a dictionary
  CHECK_FALSE(is_packed("\x58\x85"));  // another window than is usual
  CHECK_FALSE(is_packed("\x1f\x8b\x07"));
  CHECK_FALSE(is_packed("\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\0"s));
  CHECK_FALSE(is_packed("\x5e\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff"s));
}

TEST_CASE(
    "a stream of packed members gives their bytes one behind the other, however it is read, and says how it ends") {
  const auto zstd = [](const Bytes& bytes) {
    Bytes packed(ZSTD_compressBound(bytes.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
    return packed;
  };
  struct Kind {
    std::function<Bytes(const Bytes&)> pack;
    const char* breaks_off;
    const char* damaged;
  };
  const Kind kinds[] = {{gzip, "its gzip data break off", "its gzip data are damaged"},
                        {zstd, "its Zstandard data break off", "its Zstandard data do not unpack: "}};
  struct Read {
    Bytes bytes;
    std::string problem;
  };
  const auto read = [](const Bytes& packed, std::size_t at_once) {
    const auto stream = unpacking_stream(std::make_unique<SourceStream>(std::make_shared<MemorySource>("x", packed)),
                                         ByteView(packed).first(4));
    Read all;
    Bytes room(at_once);
    while (const std::size_t size = stream->read(room)) {
      all.bytes.insert(all.bytes.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size));
    }
    all.problem = stream->problem();
    return all;
  };
  for (const auto& [pack, breaks_off, damaged] : kinds) {
    INFO(breaks_off);
    // Zeros unpack to more than is asked for; noise is longer than the pieces in which packed bytes are read.
    Bytes plain;
    Bytes packed;
    for (const Bytes& part : {pattern(10), Bytes(300'000), noise(400'000), pattern(1)}) {
      const Bytes member = pack(part);
      plain.insert(plain.end(), part.begin(), part.end());
      packed.insert(packed.end(), member.begin(), member.end());
    }
    CHECK(starts_like_packed_stream(packed));
    for (const std::size_t at_once : {1000U, 131'072U, 1'000'000U}) {
      const Read all = read(packed, at_once);
      CHECK(all.bytes == plain);
      CHECK(all.problem.empty());
    }
    const Bytes one = pack(pattern(1000));
    for (const std::size_t less : {std::size_t{1}, one.size() / 2}) {
      const Read cut = read(Bytes(one.begin(), one.end() - static_cast<std::ptrdiff_t>(less)), 4096);
      CHECK(cut.problem == breaks_off);
    }
    Bytes broken = pack(noise(1000));
    broken.resize(broken.size() + 50, std::byte{0xee});
    const Read behind = read(broken, 4096);
    CHECK(behind.bytes == noise(1000));
    CHECK(behind.problem.starts_with(damaged));
  }
  CHECK_FALSE(starts_like_packed_stream(as_bytes("\x1f\x8b\x07")));
  CHECK_FALSE(starts_like_packed_stream(as_bytes("\x1f\x8b")));
  CHECK_FALSE(starts_like_packed_stream(as_bytes("\x28\xb5\x2f\xfe")));
}

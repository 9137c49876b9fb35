// Files that are compressed as a whole. They are packed here by the libraries that Python's modules of these names use.
#include <lzma.h>
#include <zlib.h>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
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
  try {
    open_image(image);
  } catch (const Error& error) {
    return error.status;
  }
  FAIL("it opened");
  return {};
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

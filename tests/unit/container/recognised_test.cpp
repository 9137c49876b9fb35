// How formats are told from each other, and from what is none.

#include "lib/base/crc32c.hpp"
#include "lib/base/error.hpp"
#include "lib/hdf5/checksum.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

std::string format_of(std::string_view bytes) {
  return std::string(open_image(bytes_of(bytes))->format());
}

std::string message_of(const Bytes& image) {
  try {
    open_image(image);
  } catch (const Error& error) {
    return error.what();
  }
  return "it opened";
}

}  // namespace

TEST_CASE("the checksums are those of their formats") {
  // Jenkins' own test vectors, and those of RFC 3720.
  CHECK(hdf5_checksum({}) == 0xdeadbeef);
  CHECK(hdf5_checksum(as_bytes("Four score and seven years ago")) == 0x17770551);
  CHECK(crc32c(as_bytes("123456789")) == 0xe3069283);
  CHECK(crc32c(Bytes(32)) == 0x8a9136aa);
}

TEST_CASE("formats with no magic number are told by their structure") {
  CHECK(format_of("\x13\0\0\0\0\0\0\0{\"__metadata__\":{}}"sv) == "safetensors");
  CHECK(format_of("\x0a\x18\x0a\x05scale\x12\x0f\x12\x07"
                  "Float32\x1a\x04\0\0\0\0"sv) == "mindspore");
  CHECK(format_of("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\x08\5\x10\1\0\0\0D"sv) == "paddle_lod_tensor");
  CHECK(format_of("{\"a\": 1}"sv) == "json");
  CHECK(format_of(" [1, 2]"sv) == "json");
  for (const auto list : {"[]"sv, "[ ]\n"sv, "[-1e-5]"sv, "[true]"sv, "[\n  1\n]"sv, "[[1]]"sv, "[{}]"sv}) {
    INFO(list);
    CHECK(format_of(list) == "json");
  }
}

TEST_CASE("a log whose lines begin with a moment or a rank in brackets is text") {
  for (const auto log :
       {"[2021-01-01 10:00:00,000 INFO] Step 50"sv, "[2021-01-01] Step 50"sv, "[05/01 12:00:01 d2] a"sv,
        "[10:00:00] Step 50"sv, "[0] Step 50"sv, "[train] Step 50"sv, "[] Step 50"sv, "{0} Step 50"sv}) {
    INFO(log);
    CHECK(message_of(bytes_of(log)).find("a text file") != std::string::npos);
  }
}

TEST_CASE("a message says what a file looks like") {
  CHECK(message_of({}).find("an empty file") != std::string::npos);
  CHECK(message_of(bytes_of("\x28\xb5\x2f\xfd"sv)).find("a zstd file") != std::string::npos);
  CHECK(message_of(bytes_of("<html>"sv)).find("a web page") != std::string::npos);
  CHECK(message_of(bytes_of("just words"sv)).find("a text file") != std::string::npos);
  CHECK(message_of(Bytes(100)).find("zero bytes") != std::string::npos);
  CHECK(message_of(bytes_of("\xff\xfe\x01\x02"sv)).find("nothing that tare knows") != std::string::npos);
  ArchiveWriter zip;
  zip.add("readme.txt", as_bytes("hello"));
  zip.finish();
  CHECK(message_of(zip.bytes()).find("zip archive without data.pkl") != std::string::npos);
}

TEST_CASE("a change of what is no array is refused where a file has arrays alone") {
  for (const auto* file : {"keras/weights_jax/model.weights.h5", "numpy/npz_flat/state.npz"}) {
    INFO(file);
    const auto container = open_corpus(file);
    const NodeId root = container->tree().root;
    for (const NodeValue& value : {NodeValue(Removal()), NodeValue(NewNone()), NodeValue(Integer{7, {}}),
                                   NodeValue(2.0), NodeValue(NewEntries{{{"key", {std::int64_t{7}}}}})}) {
      const NodeChange change{root, value, "a group"};
      CHECK_THROWS_WITH(container->change({&change, 1}), Catch::Contains("is no array"));
    }
  }
}

TEST_CASE("archives one after the other are told from a damaged one") {
  const Bytes one = torch_archive(bytes_of("\x80\x02}."sv));
  Bytes two = one;
  two.insert(two.end(), one.begin(), one.end());
  CHECK(message_of(two).find("one after the other") != std::string::npos);
}

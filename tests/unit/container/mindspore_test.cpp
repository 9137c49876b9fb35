
#include "lib/container/mindspore/mindspore.hpp"
#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"
#include "tests/unit/container/protobuf_writer.hpp"
#include "tests/unit/container/sparse_image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view four = "\x00\x00\x80\x3f"sv;  // 1.0 as a float32

std::string tensor(std::string_view dims, std::string_view type, std::string_view content) {
  return std::string(dims) + run_field(2, type) + run_field(3, content);
}

std::string record(std::string_view name, std::string_view tensor) {
  return run_field(1, run_field(1, name) + run_field(2, tensor));
}

std::string scalar(std::string_view name) {
  return record(name, tensor("", "Float32", four));
}

/// What opening those bytes throws; empty where it opens.
std::string problem_of(std::string_view bytes, Status status = Status::corrupt) {
  try {
    const auto source = std::make_shared<const MemorySource>("file", bytes_of(bytes));
    static_cast<void>(open_mindspore(source));
  } catch (const Error& error) {
    CHECK(error.status == status);
    return error.what();
  }
  return {};
}

/// The parameter of that name, which stands in a map for each part of it.
NodeId parameter(const Container& container, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return node_at(container.tree(), {name});
  return node_at(container.tree(), {name.substr(0, dot), name.substr(dot + 1)});
}

Value value_at(const Container& container, std::string_view name) {
  return container.tree().value(parameter(container, name), 64);
}

FileChange change_of(const Container& container, std::string_view name, double value) {
  const NodeChange change{parameter(container, name), value, "a new value"};
  return container.change({&change, 1});
}

std::uint32_t stored_crc(const Bytes& image) {
  return load<std::uint32_t>(image.data() + image.size() - 4, std::endian::big);
}

}  // namespace

TEST_CASE("MindSpore's parameters are tensors and texts by name, of every type") {
  const auto container = open_corpus("mindspore/all_dtypes/net.ckpt");
  CHECK(container->format() == "mindspore");
  CHECK(value_at(*container, "scale_sense").type == "tensor:float32[]");
  CHECK(value_at(*container, "scale_sense").as_double() == 256.0);
  CHECK(std::get<std::string>(value_at(*container, "note").data) == "text \u00e9");
  CHECK(value_at(*container, "flag").type == "tensor:bool[]");
  CHECK(value_at(*container, "count").type == "tensor:int64[]");
  for (const std::string_view type :
       {"float16", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}) {
    const Value value = value_at(*container, "extra." + std::string(type));
    CAPTURE(type);
    CHECK(value.type == "tensor:" + std::string(type) + "[2,3]");
    REQUIRE(std::get<PackedArray>(value.data).count() == 6);
    CHECK(std::get<PackedArray>(value.data).number_at(1) == 1.0);
  }
}

TEST_CASE("no dims and the dims [0] are a scalar, as MindSpore's releases write it") {
  const auto plain = open_image(bytes_of(scalar("a")));
  const auto zero = open_image(bytes_of(record("a", tensor(number_field(1, 0), "Float32", four))));
  const auto packed = open_image(bytes_of(record("a", tensor(run_field(1, varint(1)), "Float32", four))));
  CHECK(value_at(*plain, "a").type == "tensor:float32[]");
  CHECK(value_at(*zero, "a").type == "tensor:float32[]");
  CHECK(value_at(*packed, "a").type == "tensor:float32[1]");
}

TEST_CASE("slices of a large parameter are one tensor") {
  const auto container = open_corpus("mindspore/sliced_tensors/net.ckpt");
  const Tensor weight = container->tree().tensor(parameter(*container, "fc.weight"));
  CHECK(weight.type_text() == "tensor:float32[3,64]");
  CHECK(container->tree().reader()->elements(parameter(*container, "fc.weight")).size() == 3 * 64 * 4);
  CHECK(value_at(*container, "scale_sense").as_double() == 64.0);
}

TEST_CASE("a checkpoint of gigabytes is hopped over, a window a record") {
  constexpr std::size_t records = 1000;
  constexpr std::uint64_t content = 4 << 20;
  auto image = std::make_shared<SparseImage>();
  for (std::size_t i = 0; i < records; ++i) {
    const std::string name = run_field(1, "layers." + std::to_string(i) + ".weight");
    const std::string head =
        number_field(1, content / 4) + run_field(2, "Float32") + varint(3 << 3 | 2) + varint(content);
    const std::string value = name + varint(2 << 3 | 2) + varint(head.size() + content) + head;
    image->append(bytes_of(varint(1 << 3 | 2) + varint(value.size() + content) + value));
    image->append_hole(content);
  }
  image->append(bytes_of(scalar("scale_sense")));
  const auto container = open_mindspore(image);
  CHECK(container->tree().items(node_at(container->tree(), {"layers"})).size() == 2 * records);
  CHECK(value_at(*container, "scale_sense").as_double() == 1.0);
  CHECK(image->bytes_read < (records + 4) * 512);
}

TEST_CASE("an edit changes the value and the checksum that follows from it") {
  const Bytes image = corpus_bytes("mindspore/dynamic_cell_crc/net.ckpt");
  REQUIRE(stored_crc(image) == crc32(ByteView(image).first(image.size() - 17)));
  const Bytes edited = applied(image, change_of(*open_image(image), "scale_sense", 4096.0));
  CHECK(value_at(*open_image(edited), "scale_sense").as_double() == 4096.0);
  CHECK(stored_crc(edited) == crc32(ByteView(edited).first(edited.size() - 17)));
  CHECK(stored_crc(edited) != stored_crc(image));
  CHECK(changed_offsets(image, edited).size() <= 8);
}

TEST_CASE("a checksum that was wrong is told, and stays wrong") {
  Bytes image = corpus_bytes("mindspore/dynamic_cell_crc/net.ckpt");
  CHECK(open_image(image)->findings().empty());
  image[40] ^= std::byte{1};
  REQUIRE(open_image(image)->findings().size() == 1);
  CHECK(open_image(image)->findings()[0].code == "crc-mismatch");
  const Bytes edited = applied(image, change_of(*open_image(image), "scale_sense", 4096.0));
  CHECK(stored_crc(edited) != crc32(ByteView(edited).first(edited.size() - 17)));
}

TEST_CASE("a checksum beyond 32 bits is damage") {
  Bytes image = corpus_bytes("mindspore/dynamic_cell_crc/net.ckpt");
  image[image.size() - 10] = std::byte{1};
  CHECK_THROWS_AS(change_of(*open_image(image), "scale_sense", 4096.0), Error);
}

TEST_CASE("what MindSpore could not have written is refused, with the place and the reason") {
  const std::string sound = scalar("first");
  struct Case {
    std::string bytes;
    std::string_view says;
  };
  const std::vector<Case> cases = {
      {sound + "\x0a"s, "without a length"},
      {sound + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "without an end"},
      {sound + "\x0a\x7f\x0a"s, "field of 127 bytes, where 1 are left"},
      {sound + run_field(2, "else"), "no record"},
      {sound + number_field(1, 7), "no record"},
      {sound + run_field(1, ""), "has no name"},
      {sound + run_field(1, run_field(2, tensor("", "Float32", four))), "has no name"},
      {sound + run_field(1, run_field(1, "x")), "x has no tensor"},
      {sound + run_field(1, run_field(1, "x") + run_field(1, "y")), "field 1 is there twice"},
      {sound + run_field(1, number_field(1, 3)), "field 1 is a number"},
      {sound + record("x", run_field(3, four)), "x has no type"},
      {sound + record("x", run_field(2, "Float32")), "x has no contents"},
      {sound + record("x", tensor("", "Float32", "123")), "x has 3 bytes"},
      {sound + record("x", tensor(number_field(1, 2), "Float32", four)), "x has 4 bytes"},
      {sound + record("x", tensor(number_field(1, ~std::uint64_t{0}), "Float32", four)), "cannot be"},
      {sound + record("x", tensor(number_field(1, 1ull << 62) + number_field(1, 4), "Float32", four)), "cannot be"},
      {sound + scalar("other") + sound, "first is there twice"},
      {sound + record("x", tensor(number_field(1, 2), "Float32", four)) +
           record("x", tensor(number_field(1, 3), "Float32", four)),
       "another type or shape"},
      {sound + record("x", tensor(number_field(1, 2), "Float32", four)) +
           record("x", tensor(number_field(1, 2), "Int32", four)),
       "another type or shape"},
      {sound + record("x", tensor(number_field(1, 2), "Float32", four)), "needs 2 elements"},
      {sound + scalar("x") + scalar("x"), "x has 8 bytes"},
      {sound + run_field(1, run_field(1, "x") + std::string("\x13", 1)), "of kind 3"},
      {sound + run_field(1, run_field(1, std::string(5000, 'x'))), "text of 5000 bytes"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.says);
    CHECK_THAT(problem_of(one.bytes), Catch::Contains(std::string(one.says)));
  }
  std::string many;
  for (int i = 0; i < 65; ++i) many += number_field(1, 1);
  CHECK_THAT(problem_of(record("x", tensor(many, "Float32", four))), Catch::Contains("more than 64 numbers"));
}

TEST_CASE("fields that a later MindSpore adds are hopped over") {
  const std::string newer = number_field(9, 1) + varint(10 << 3 | 1) + "12345678" + varint(11 << 3 | 5) + "1234";
  const auto container = open_image(
      bytes_of(run_field(1, run_field(1, "scale_sense") + run_field(2, tensor(newer, "Float32", four)) + newer) +
               run_field(1, run_field(1, "table") + run_field(3, "a map parameter"))));
  CHECK(value_at(*container, "scale_sense").as_double() == 1.0);
  CHECK(container->tree().kind(node_at(container->tree(), {"table"})) == Kind::opaque);
}

TEST_CASE("a number cut into slices, and a parameter that is no number, are not edited") {
  const std::string halves =
      record("a", tensor("", "Float32", four.substr(0, 2))) + record("a", tensor("", "Float32", four.substr(2)));
  CHECK(value_at(*open_image(bytes_of(halves)), "a").as_double() == 1.0);
  CHECK_THROWS_AS(change_of(*open_image(bytes_of(halves)), "a", 2.0), Error);
  const auto container = open_corpus("mindspore/all_dtypes/net.ckpt");
  CHECK_THROWS_AS(change_of(*container, "note", 2.0), Error);
  CHECK_THROWS_AS(change_of(*container, "fc.weight", 2.0), Error);
}

TEST_CASE("an encrypted checkpoint is named as such") {
  try {
    static_cast<void>(open_corpus("mindspore/encrypted_gcm/net.ckpt"));
    FAIL("it opened");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains("an encrypted MindSpore checkpoint"));
  }
}

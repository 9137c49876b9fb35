#include "lib/container/safetensors.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>

#include "lib/base/error.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

Bytes file_of(const std::string& header, std::size_t data_size) {
  Bytes image;
  append_le(image, std::uint64_t{header.size()});
  const ByteView text = as_bytes(header);
  std::copy(text.begin(), text.end(), std::back_inserter(image));
  image.resize(image.size() + data_size);
  return image;
}

std::string error_of(const std::string& header, std::size_t data_size) {
  try {
    open_image(file_of(header, data_size));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

const std::string one = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";

}  // namespace

TEST_CASE("names are keys, split at their dots; metadata is text beside them") {
  const auto file = open_image(
      file_of(R"({"__metadata__":{"format":"pt\n"},"m.scale":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
              R"("m.k":{"dtype":"I64","shape":[1],"data_offsets":[4,12]}})",
              12));
  const Tree& tree = file->tree();
  const NodeId m = tree.find(tree.root, "m");
  CHECK(tree.tensor(tree.find(m, "scale")).type_text() == "tensor:float32[]");
  CHECK(tree.value(tree.find(m, "k"), 1).as_double() == 0);
  CHECK(tree.text(tree.find(tree.find(tree.root, "__metadata__"), "format")) == "pt\n");
}

TEST_CASE("an element changes in place, and nothing else") {
  const Bytes image = file_of("{" + one + "}", 8);
  const auto file = open_image(image);
  const NodeChange change{file->tree().find(file->tree().root, "a"), NewElements{{1, 2.0}}, "a"};
  const FileChange made = file->change({&change, 1});
  REQUIRE(made.patches.size() == 1);
  CHECK(made.patches[0].offset + made.patches[0].after.size() == image.size());
  const auto after = open_image(applied(image, made));
  const auto array = std::get<PackedArray>(after->tree().value(after->tree().find(after->tree().root, "a"), 2).data);
  CHECK(array.number_at(0) == 0);
  CHECK(array.number_at(1) == 2);
}

TEST_CASE("real files of transformers' quantisers read as written") {
  const auto file = open_corpus("safetensors_fp8/static_input/model/model.safetensors");
  const Tree& tree = file->tree();
  NodeId at = tree.root;
  for (const char* key : {"model", "layers", "0", "self_attn", "q_proj"}) at = tree.find(at, key);
  CHECK(tree.value(tree.find(at, "input_scale"), 1).as_double() == 3.25);
  CHECK(tree.tensor(tree.find(at, "weight")).type.name == "float8_e4m3fn");
}

TEST_CASE("files that the format's own reader refuses are refused") {
  CHECK(error_of("{" + one + "}", 8).empty());
  CHECK(error_of("{" + one + "}", 9).find("1 bytes stand behind the last tensor") != std::string::npos);
  CHECK(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8).find("starts at offset") !=
        std::string::npos);
  CHECK(error_of("{" + one + "," + one + "}", 8).find("there twice") != std::string::npos);
  CHECK(error_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8).find("its shape says") !=
        std::string::npos);
  CHECK(error_of(R"({"a":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]}})", 16)
            .find("its shape says") != std::string::npos);
  CHECK(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8).find("no place") != std::string::npos);
  CHECK(error_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8).find("no whole number") !=
        std::string::npos);
  CHECK(error_of(R"({"a)", 0).find("without an end") != std::string::npos);
}

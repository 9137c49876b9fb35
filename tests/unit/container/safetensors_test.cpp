#include "lib/container/safetensors/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "tests/catch.hpp"
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

TEST_CASE("a header that is indented is read, and its file is not refused as one of an unknown format") {
  const std::string indented = "{\n  " + one + "\n}";
  for (const std::string& header : {indented, "{ " + one + "}", "{\r\n\t" + one + "}"}) {
    const auto file = open_image(file_of(header, 8));
    CHECK(file->format() == "safetensors");
    CHECK(file->tree().tensor(file->tree().find(file->tree().root, "a")).shape == std::vector<std::int64_t>{2});
  }
  // Not every brace after eight bytes starts such a header.
  for (const std::string_view other : {"{  \n", "{ a", "{[\"", " {\""}) {
    CHECK_FALSE(starts_like_safetensors(file_of(std::string(other), 0)));
  }
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
  CHECK(error_of(R"({"a)", 0).find("does not end") != std::string::npos);
}

TEST_CASE("a header says each thing of a tensor once, in whole numbers, and nothing else") {
  const auto error_with = [](const std::string& described) { return error_of(R"({"a":{)" + described + "}}", 8); };
  const std::string type = R"("dtype":"F32")", shape = R"("shape":[2])", place = R"("data_offsets":[0,8])";
  CHECK(error_with(type + "," + shape + "," + place).empty());
  CHECK(error_with(place + " ,\n" + shape + "," + type).empty());
  for (const std::string& again : {type, shape, place}) {
    CHECK(error_with(type + "," + shape + "," + place + "," + again).find("there twice") != std::string::npos);
  }
  for (const char* number : {"2.0", "2e0", "-0", "\"2\"", "null", "9223372036854775808", "[2]"}) {
    INFO(number);
    const std::string told = error_with(type + R"(,"shape":[)" + number + "]," + place);
    CHECK(told.find("no whole number") != std::string::npos);
  }
  CHECK(error_with(type + R"(,"shape":[02],)" + place).find("starts with 0") != std::string::npos);
  CHECK(error_with(type + R"(,"shape":2,)" + place).find("no list") != std::string::npos);
  CHECK(error_with(type + R"(,"shape":[2,],)" + place).find("no whole number") != std::string::npos);
  CHECK(error_with(type + R"(,"shape":[2,1,)" + place).find("no whole number") != std::string::npos);
  CHECK(error_with(R"("dtype":4,)" + shape + "," + place).find("no text") != std::string::npos);
  CHECK(error_with(type + "," + shape).find("a has no place") != std::string::npos);
  CHECK(error_with(type + "," + shape + "," + place + R"(,"strides":[1])").find("unknown key 'strides' of a") !=
        std::string::npos);
  CHECK(error_of(R"({"a":[]})", 0).find("no object") != std::string::npos);
  CHECK(error_of("{" + one + "} x", 8).find("behind the end") != std::string::npos);
  CHECK(error_of("{" + one + R"(,"__metadata__":{"k":"v","k":"v"}})", 8).find("there twice") != std::string::npos);
  CHECK(error_of("{" + one + R"(,"__metadata__":{"k":1}})", 8).find("no text") != std::string::npos);
}

TEST_CASE("a name is what its escapes stand for, and is told as such") {
  const auto file = open_image(file_of(R"({"\u0061.\"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
  const Tree& tree = file->tree();
  CHECK(tree.find(tree.find(tree.root, "a"), "\"b") != nowhere);
  CHECK(error_of(R"({"\u0061" : {"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 2)
            .find("there twice") != std::string::npos);
  const std::uint64_t large = limits::max_tensor_read_bytes + 1;
  const auto whole = open_image(
      file_of(fmt::format(R"({{"\u0061b" : {{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}}}})", large), large));
  const NodeId tensor = whole->tree().find(whole->tree().root, "ab");
  CHECK_THROWS_WITH(whole->tree().reader()->elements(tensor), Catch::Contains(": ab: a tensor of 33554433 bytes"));
}

namespace {

/// `head`, and zeros up to `size`.
class HoleSource final : public Source {
 public:
  HoleSource(Bytes head, std::uint64_t size) : head_(std::move(head)), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = offset + i < head_.size() ? head_[offset + i] : std::byte{0};
    }
  }

 private:
  Bytes head_;
  std::uint64_t size_;
  std::string name_ = "model.safetensors";
};

}  // namespace

TEST_CASE("a header longer than the format's own reader takes is refused as such") {
  Bytes head;
  append_le(head, limits::max_safetensors_header_bytes + 1);
  for (const char c : std::string_view("{\"a\"")) head.push_back(static_cast<std::byte>(c));
  const auto source = std::make_shared<HoleSource>(head, limits::max_safetensors_header_bytes + 100);
  CHECK_THROWS_WITH(open_container(source), Catch::Contains("a safetensors header of 100000001 bytes"));
}

namespace {

/// Four tensors, of 8, 3, 4 and 1 bytes, each filled with its letter; the last is not the last in the header.
Bytes four_tensors() {
  Bytes image = file_of(R"({"d":{"dtype":"U8","shape":[1],"data_offsets":[15,16]},)"
                        R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                        R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
                        R"("__metadata__":{"format":"pt"},)"
                        R"("c":{"dtype":"U8","shape":[4],"data_offsets":[11,15]}}   )",
                        0);
  for (const char letter : std::string_view("aaaaaaaabbbccccd")) image.push_back(static_cast<std::byte>(letter));
  return image;
}

/// The names and bytes of all tensors, in the order of their places.
std::string contents(const Bytes& image) {
  const SafetensorsHeader header = read_safetensors_header(MemorySource("image", image));
  std::vector<SafetensorsEntry> entries = header.entries;
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.place.offset < b.place.offset || (a.place.offset == b.place.offset && a.place.size < b.place.size);
  });
  std::string all;
  for (const SafetensorsEntry& entry : entries) {
    all.append(header.name(entry))
        .append("=")
        .append(as_text(ByteView(image).subspan(entry.place.offset, entry.place.size)));
    all.append(" ");
  }
  return all;
}

/// What becomes of the image, and whether its header keeps its length.
std::string changed(const Bytes& image, std::vector<std::pair<std::string, NodeValue>> values,
                    bool keeps_length = true) {
  const auto file = open_image(image);
  std::vector<NodeChange> changes;
  for (auto& [name, value] : values) {
    changes.push_back({file->tree().find(file->tree().root, name), std::move(value), name});
  }
  const FileChange made = file->change(changes);
  CHECK(made.patches.empty() != keeps_length);
  const Bytes after = applied(image, made);
  open_image(after);  // takes no file whose tensors leave gaps
  CHECK((load_le<std::uint64_t>(after.data()) == load_le<std::uint64_t>(image.data())) == keeps_length);
  CHECK(load_le<std::uint64_t>(after.data()) % (keeps_length ? 1 : 8) == 0);
  return contents(after);
}

NewContents bytes(std::string_view text) {
  return {bytes_of(text)};
}

}  // namespace

TEST_CASE("a tensor of bytes changes its size, and those behind it move") {
  const Bytes image = four_tensors();
  CHECK(contents(image) == "a=aaaaaaaa b=bbb c=cccc d=d ");
  CHECK(changed(image, {{"b", bytes("")}}) == "a=aaaaaaaa b= c=cccc d=d ");
  CHECK(changed(image, {{"b", bytes("xx")}, {"d", bytes("yyy")}}) == "a=aaaaaaaa b=xx c=cccc d=yyy ");
  CHECK(changed(image, {{"c", bytes("zzzzz")}}) == "a=aaaaaaaa b=bbb c=zzzzz d=d ");
}

TEST_CASE("a tensor goes with its member of the header, wherever that stands") {
  const Bytes image = four_tensors();
  for (const auto& [name, left] : std::vector<std::pair<std::string, std::string>>{{"a", "b=bbb c=cccc d=d "},
                                                                                   {"b", "a=aaaaaaaa c=cccc d=d "},
                                                                                   {"c", "a=aaaaaaaa b=bbb d=d "},
                                                                                   {"d", "a=aaaaaaaa b=bbb c=cccc "}}) {
    INFO(name);
    CHECK(changed(image, {{name, Removal()}}) == left);
  }
  CHECK(changed(image, {{"a", Removal()}, {"b", Removal()}, {"c", Removal()}, {"d", Removal()}}).empty());
}

TEST_CASE("a header that has no room left grows, where the file is small") {
  CHECK(changed(four_tensors(), {{"b", NewContents{Bytes(200'000, std::byte{'b'})}}}, false).ends_with("c=cccc d=d "));
}

TEST_CASE("a tensor of numbers keeps its size, and no more than a limit moves") {
  const Bytes image = four_tensors();
  CHECK_THROWS_WITH(changed(image, {{"a", bytes("")}}), Catch::Contains("no row of bytes"));
  CHECK_THROWS_WITH(changed(image, {{"b", bytes("")}, {"a", NewElements{{0, 1.0}}}}), Catch::Contains("one after"));
  const std::uint64_t size = (std::uint64_t{32} << 20) + 1;
  const std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[)" +
                             std::to_string(size) + R"(],"data_offsets":[1,)" + std::to_string(size + 1) + "]}}";
  CHECK_THROWS_WITH(changed(file_of(header, size + 1), {{"b", Removal()}}), Catch::Contains("would have to move"));
}

TEST_CASE("a header that the format's own parser of JSON refuses is refused") {
  for (const std::string& header :
       {"{\"a\x04" + one.substr(2) + "}", "{\"__metadata__\":{\"a\":\"\x1f\"}," + one + "}",
        "{\"__metadata__\":{\"a\":\"\xff\"}," + one + "}", "{" + one + "," + one + "}",
        "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}," + one + "}",
        "{\"__metadata__\":{},\"__metadata__\":{}," + one + "}", "{" + one + ",}", "{" + one + "}x", "{" + one + "}\1",
        std::string(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
        std::string(R"({"a":{"dtype":"F32" "shape":[2],"data_offsets":[0,8]}})"),
        std::string(R"({"a":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}})"),
        std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-0,8]}})"),
        std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],}})")}) {
    INFO(header);
    CHECK(error_of(header, 8).find("safetensors header") != std::string::npos);
  }
  CHECK(error_of("{" + one + "}   ", 8).empty());
  CHECK(error_of("{\"__metadata__\":{}," + one + "}", 8).empty());
}

// Pickles in tensors under the key of an extra state: TransformerEngine loads the bytes of any tensor there.
#include <fmt/format.h>

#include "tests/unit/attest/told.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

const std::string key = "layers.0._extra_state";
const std::string evil = "\x80\x02"s + "cos\nsystem\n(Vls\ntR.\0\0\0\0\0\0\0\0\0\0\0"s;

std::string text(const std::string& value) {
  return "X"s + static_cast<char>(value.size()) + "\0\0\0"s + value;
}

/// A tensor of `shape`, which may have two dimensions, and its storage.
std::string tensor(const std::string& storage, std::vector<int> shape) {
  const auto number = [](int value) { return "K"s + static_cast<char>(value); };
  int count = 1;
  std::string sizes, strides;
  for (const int size : shape) {
    count *= size;
    sizes += number(size);
  }
  for (std::size_t i = 0; i < shape.size(); ++i) strides += number(i + 1 < shape.size() ? shape.back() : 1);
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storage + "\n" + text("0") +
         text("cpu") + number(count) + "tQK\0("s + sizes + "t(" + strides + "t\x89" + "ccollections\nOrderedDict\n)RtR";
}

std::string torch_zip(const std::string& tensor, const std::string& storage) {
  ArchiveWriter zip;
  zip.add("archive/data.pkl", bytes_of("\x80\x02}(" + text(key) + tensor + "u."));
  zip.add("archive/data/0", bytes_of(storage));
  zip.add("archive/version", bytes_of("3\n"));
  zip.finish();
  return std::string(as_text(zip.bytes()));
}

std::string safetensors(const std::string& name, const std::string& type, const std::string& shape,
                        const std::string& data) {
  std::string header =
      fmt::format(R"({{"{}":{{"dtype":"{}","shape":{},"data_offsets":[0,{}]}}}})", name, type, shape, data.size());
  header.append((8 - header.size() % 8) % 8, ' ');
  return static_cast<char>(header.size()) + "\0\0\0\0\0\0\0"s + header + data;
}

}  // namespace

TEST_CASE("a pickle in an extra state is judged, whatever the type and the shape of the tensor that holds it") {
  REQUIRE(evil.size() == 32);
  const auto is_judged = [](const std::string& file) { return says(told(file), "dangerous os.system"); };
  for (const auto& [storage, shape] : std::vector<std::pair<std::string, std::vector<int>>>{{"ByteStorage", {32}},
                                                                                            {"ByteStorage", {1, 32}},
                                                                                            {"CharStorage", {32}},
                                                                                            {"BoolStorage", {4, 8}},
                                                                                            {"FloatStorage", {8}},
                                                                                            {"LongStorage", {2, 2}}}) {
    INFO(storage);
    CHECK(is_judged(torch_zip(tensor(storage, shape), evil)));
  }
  for (const auto& [type, shape] : std::vector<std::pair<std::string, std::string>>{
           {"F32", "[8]"}, {"F64", "[2,2]"}, {"BF16", "[16]"}, {"I8", "[32]"}, {"U8", "[4,8]"}, {"BOOL", "[32]"}}) {
    INFO(type);
    CHECK(is_judged(safetensors(key, type, shape, evil)));
  }
}

TEST_CASE("numbers under the key of an extra state are numbers, and bytes in other tensors are data") {
  const std::string ones = "\0\0\x80\x3f\0\0\x80\x3f"s;
  CHECK(told(safetensors(key, "F32", "[2]", ones)).empty());
  CHECK(told(safetensors(key, "F32", "[1,2]", ones)).empty());
  CHECK(told(safetensors(key, "F32", "[0]", "")).empty());
  CHECK(told(safetensors("weight", "F32", "[8]", evil)).empty());
}


#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

FileChange change_of(const Bytes& image, std::initializer_list<Step> steps, NodeValue value) {
  const auto container = open_image(image);
  const NodeChange change{node_at(container->tree(), steps), value, "a new value"};
  return container->change({&change, 1});
}

double number_at(const Bytes& image, std::initializer_list<Step> steps) {
  const auto container = open_image(image);
  return container->tree().value(node_at(container->tree(), steps), 1).as_double();
}

/// A legacy file that torch could have written: {"scale": float32[1] on the CPU, "tracker": 2} and storages "7" and
/// "9".
Bytes small_file() {
  Bytes file = bytes_of("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv);
  const auto add = [&](std::string_view text) {
    const Bytes bytes = bytes_of(text);
    file.insert(file.end(), bytes.begin(), bytes.end());
  };
  const auto tensor = [&](std::string_view key) {
    add("ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"sv);
    add(key);
    add("X\3\0\0\0cpuK\x01NtQK\0K\x01\x85K\x01\x85\211ccollections\nOrderedDict\n)RtR"sv);
  };
  add("\x80\x02M\xe9\x03."sv);
  add("\x80\x02}(X\20\0\0\0protocol_versionM\xe9\x03X\15\0\0\0little_endian\x88u."sv);
  add("\x80\x02}(X\5\0\0\0scale"sv);
  tensor("7");
  add("X\5\0\0\0other"sv);
  tensor("9");
  add("X\7\0\0\0trackerK\2u."sv);
  add("\x80\x02](X\x01\0\0\0"
      "7X\x01\0\0\0"
      "9e."sv);
  for (const float value : {256.0f, 3.0f}) {
    append_le(file, std::uint64_t{1});
    append_le(file, value);
  }
  return file;
}

}  // namespace

TEST_CASE("legacy files of every torch and protocol read as written") {
  struct Case {
    std::string_view file;
    double scale;
  };
  for (const auto& [file, scale] :
       {Case{"torch/legacy-t1.13/model.pt", 8192}, Case{"torch/legacy-t2.15/model.pt", 4096},
        Case{"torch/legacy-protocol4/old.pt", 131072}}) {
    INFO(file);
    const auto container = open_corpus(file);
    CHECK(container->format() == "torch_legacy");
    CHECK(container->findings().empty());
    CHECK(container->tree().value(node_at(container->tree(), {"scaler", "scale"}), 1).as_double() == scale);
  }
}

TEST_CASE("the elements of every tensor of a legacy file are found behind those before it") {
  const Bytes image = small_file();
  CHECK(open_image(image)->findings().empty());
  CHECK(number_at(image, {"scale"}) == 256.0);
  CHECK(number_at(image, {"other"}) == 3.0);
}

TEST_CASE("a float of a legacy file changes in place") {
  const Bytes image = corpus_bytes("torch/legacy-t2.15/model.pt");
  const FileChange change = change_of(image, {"scaler", "scale"}, 123.456);
  CHECK_FALSE(change.splice);
  const Bytes after = applied(image, change);
  CHECK(changed_offsets(image, after).size() <= 8);
  CHECK(number_at(after, {"scaler", "scale"}) == 123.456);
}

TEST_CASE("a longer legacy object is spliced in, and its storages are found where they went") {
  const Bytes image = small_file();
  const FileChange change = change_of(image, {"tracker"}, Integer{300, {}});
  REQUIRE(change.splice);
  CHECK(change.splice->before.size() < 4);
  const Bytes after = applied(image, change);
  CHECK(after.size() == image.size() + 1);
  CHECK(number_at(after, {"tracker"}) == 300);
  CHECK(number_at(after, {"scale"}) == 256.0);
  CHECK(number_at(after, {"other"}) == 3.0);
}

TEST_CASE("a tensor element and a longer object change in one splice") {
  const Bytes image = small_file();
  const auto container = open_image(image);
  const NodeChange changes[] = {{node_at(container->tree(), {"tracker"}), Integer{300, {}}, "tracker"},
                                {node_at(container->tree(), {"other"}), 5.0, "other"}};
  const Bytes after = applied(image, container->change(changes));
  CHECK(number_at(after, {"tracker"}) == 300);
  CHECK(number_at(after, {"other"}) == 5.0);
  CHECK(number_at(after, {"scale"}) == 256.0);
}

TEST_CASE("bytes behind the last storage are told") {
  Bytes image = small_file();
  image.push_back(std::byte{1});
  REQUIRE(open_image(image)->findings().size() == 1);
  CHECK(open_image(image)->findings()[0].code == "trailing-bytes");
}

TEST_CASE("a legacy file that ends anywhere else than its end is refused") {
  const Bytes image = small_file();
  for (std::size_t size = 15; size < image.size(); ++size) {
    INFO(size);
    CHECK_THROWS_AS(open_image(Bytes(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size))), Error);
  }
}

TEST_CASE("only the pickles of a legacy file are read, not its tensors") {
  class Counting final : public Source {
   public:
    explicit Counting(Bytes image) : image_("image", std::move(image)) {}
    [[nodiscard]] std::uint64_t size() const override { return image_.size(); }
    [[nodiscard]] const std::string& name() const override { return image_.name(); }
    void read(std::uint64_t offset, std::span<std::byte> to) const override {
      count += to.size();
      image_.read(offset, to);
    }
    mutable std::uint64_t count = 0;

   private:
    MemorySource image_;
  };
  Bytes image = small_file();
  image.resize(image.size() + (8 << 20));
  const auto source = std::make_shared<Counting>(std::move(image));
  open_container(source);
  CHECK(source->count < 40'000);
}

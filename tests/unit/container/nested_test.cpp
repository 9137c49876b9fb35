// Documents inside others: TransformerEngine's extra state in every form that its releases gave it.
#include "lib/container/nested.hpp"

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view plain_key = "layers.0._extra_state";

/// A tensor in the document of a file's first layer.
struct Inner {
  NodeId holder, node;
};

Inner inner_tensor(const Container& file, std::string_view name) {
  const Tree& tree = file.tree();
  const NodeId holder = tree.find(tree.root, plain_key);
  const auto document = tree.open(holder);
  REQUIRE(document != nullptr);
  return {holder, document->find(document->root, name)};
}

PackedArray inner_array(const Container& file, std::string_view name) {
  const Inner inner = inner_tensor(file, name);
  return std::get<PackedArray>(file.tree().open(inner.holder)->value(inner.node, 1 << 20).data);
}

/// A pickle (protocol 4) of bytes in a uint8 array, as a dict's only value.
Bytes holding(std::string_view content) {
  Bytes image = bytes_of("\x80\x02}X\1\0\0\0aC"sv);
  image.push_back(static_cast<std::byte>(content.size()));
  const Bytes inner = bytes_of(content);
  image.insert(image.end(), inner.begin(), inner.end());
  const Bytes end = bytes_of("s."sv);
  image.insert(image.end(), end.begin(), end.end());
  return image;
}

NodeId held(const Container& file) {
  return file.tree().find(file.tree().root, "a");
}

}  // namespace

TEST_CASE("a nested document reads the same in a uint8 tensor and in an io.BytesIO") {
  struct Case {
    std::string_view file;
    float first_scale, oldest_amax;
  };
  for (const auto& [file, first_scale, oldest_amax] : {
           Case{"transformer_engine/te2.20_delayed/model.pt", 0.00918273814022541F, 40.39640808105469F},
           Case{"transformer_engine/te1.13_4layers/model.pt", 5.729334831237793F, 0.4903140366077423F},
           Case{"transformer_engine/te1.0_plain/model.pt", 0.07353748381137848F, 16.271867752075195F},
       }) {
    INFO(file);
    const auto container = open_corpus(file);
    CHECK(inner_array(*container, "scale_fwd").number_at(0) == first_scale);
    CHECK(inner_array(*container, "amax_history_fwd").number_at(3) == oldest_amax);
  }
}

TEST_CASE("elements in a nested document change alone, and the file around it stays whole") {
  for (const char* file :
       {"transformer_engine/te2.20_delayed/model.pt", "transformer_engine/te1.13_4layers/model.pt"}) {
    INFO(file);
    const Bytes image = corpus_bytes(file);
    const auto before = open_image(image);
    const Inner inner = inner_tensor(*before, "amax_history_fwd");
    const NodeChange change{inner.holder, NewElements{{4, 1.5}, {5, 2.5}}, "an amax", {inner.node}};
    const auto after = open_image(applied(image, before->change({&change, 1})));
    const PackedArray was = inner_array(*before, "amax_history_fwd");
    const PackedArray is = inner_array(*after, "amax_history_fwd");
    for (std::uint64_t i = 0; i < was.count(); ++i) {
      CHECK(is.number_at(i) == (i == 4 ? 1.5 : i == 5 ? 2.5 : was.number_at(i)));
    }
    CHECK(same(Value{inner_array(*after, "scale_fwd"), ""}, Value{inner_array(*before, "scale_fwd"), ""}));
    CHECK(after->findings().size() == before->findings().size());
  }
}

TEST_CASE("a change inside a tensor keeps the file's size: no record moves") {
  const Bytes image = corpus_bytes("transformer_engine/te2.20_delayed/model.pt");
  const auto container = open_image(image);
  const Inner inner = inner_tensor(*container, "scale_bwd");
  const NodeChange change{inner.holder, NewElements{{1, 8.0}}, "a scale", {inner.node}};
  const FileChange made = container->change({&change, 1});
  CHECK_FALSE(made.append);
  CHECK(applied(image, made).size() == image.size());
}

TEST_CASE("what holds no document opens as none, and no element beyond its tensor is written") {
  const auto container = open_corpus("transformer_engine/te2.20_delayed/model.pt");
  const Tree& tree = container->tree();
  CHECK(tree.open(tree.root) == nullptr);
  CHECK(tree.open(tree.find(tree.root, "layers.0.weight")) == nullptr);
  const Inner inner = inner_tensor(*container, "scale_bwd");
  const NodeChange change{inner.holder, NewElements{{2, 8.0}}, "a scale", {inner.node}};
  CHECK_THROWS_AS(container->change({&change, 1}), Error);
}

TEST_CASE("a pickle in a pickle opens level by level, each only when it is asked for") {
  const Bytes deep = holding(as_text(holding("\x80\x02K\7."sv)));
  const auto file = open_image(deep);
  const auto first = file->tree().open(held(*file));
  REQUIRE(first != nullptr);
  const auto second = first->open(first->find(first->root, "a"));
  REQUIRE(second != nullptr);
  CHECK(second->integer(second->root).value == 7);
  const NodeChange change{held(*file), Integer{9, {}}, "deep", {first->find(first->root, "a"), second->root}};
  const auto after = open_image(applied(deep, file->change({&change, 1})));
  const auto again = after->tree().open(held(*after));
  CHECK(again->open(again->find(again->root, "a"))->integer(0).value == 9);
}

TEST_CASE("broken nested documents are errors when they are opened, and no hindrance to their file") {
  for (const std::string_view content : {"\x80\4\x95\xff\0\0\0\0\0\0\0}."sv, "\x80\4B\xff\xff\xff\x7f"sv, "PK\3\4"sv,
                                         "\x80\2\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19."sv, "no document"sv}) {
    const auto file = open_image(holding(content));
    CHECK_THROWS_AS(file->tree().open(held(*file)), Error);
  }
  const auto empty = open_image(holding(""));
  CHECK(empty->tree().open(held(*empty)) == nullptr);
}

TEST_CASE("a stream whose counts lie is an error of its tensor alone") {
  Bytes image = corpus_bytes("transformer_engine/te2.20_delayed/model.pt");
  const auto whole = open_image(image);
  const Tree& tree = whole->tree();
  const NodeId holder = tree.find(tree.root, plain_key);
  Bytes content = *contents_of(tree, holder);
  // The count stands in front of the data: 3 elements, the first of which is the scale of the input.
  const Bytes count = bytes_of("\3\0\0\0\0\0\0\0"sv);
  const auto at = std::search(content.begin(), content.end(), count.begin(), count.end());
  REQUIRE(at != content.end());
  *at = std::byte{200};
  const NodeChange lie{holder, NewContents{content}, "a lie"};
  const auto after = open_image(applied(image, whole->change({&lie, 1})));
  const auto document = after->tree().open(holder);
  REQUIRE(document != nullptr);
  CHECK_THROWS_AS(document->tensor(document->find(document->root, "scale_fwd")), Error);
  CHECK(document->tensor(document->find(document->root, "scale_bwd")).count() == 2);
}

// flax's msgpack files, real and made.
#include "lib/container/msgpack/new_msgpack.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/changed.hpp"

#include <cmath>
#include <string>

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

constexpr Answer answers[] = {
    {"msgpack_chunks_missing/state.msgpack", Status::ok, "array-not-read"},
    {"msgpack_count/state.msgpack", Status::corrupt},
    {"msgpack_depth/state.msgpack", Status::unsupported},
    {"msgpack_length/state.msgpack", Status::corrupt},
    {"msgpack_map_depth/state.msgpack", Status::refused},
    {"msgpack_shape/state.msgpack", Status::ok, "array-not-read"},
    {"msgpack_truncated/state.msgpack", Status::corrupt},
    {"msgpack_two_keys/state.msgpack", Status::ok, "duplicate-key"},
};

/// {"n": ...} with that encoding.
Bytes map_of(std::string_view value) {
  return bytes_of(std::string("\x81\xa1n").append(value));
}

}  // namespace

TEST_CASE("flax's arrays, scalars and Python numbers keep their types") {
  const auto stepped = open_corpus("flax/to_bytes_stepped/state.msgpack");
  CHECK(stepped->format() == "msgpack");
  CHECK(stepped->findings().empty());
  CHECK(type_at(*stepped, {"dynamic_scale", "scale"}) == "numpy:float32[]");
  CHECK(number_at(*stepped, {"dynamic_scale", "scale"}) == 1024);
  const auto fresh = open_corpus("flax/to_bytes_fresh/state.msgpack");
  CHECK(type_at(*fresh, {"dynamic_scale", "scale"}) == "float");
  CHECK(type_at(*fresh, {"dynamic_scale", "fin_steps"}) == "int");
  // As flax.serialization._ndarray_to_bytes has it, in extension type 3: a numpy scalar.
  CHECK(type_at(*open_image(map_of("\xc7\x10\x03\x93\x90\xa7"
                                   "float32\xc4\x04\0\0\x80\x3f"sv)),
                {"n"}) == "numpy:float32");
}

TEST_CASE("a chunked array is one array") {
  const auto container = open_corpus("flax/msgpack_chunked/state.msgpack");
  const NodeId kernel = node_at(container->tree(), {"params", "kernel"});
  const Value value = container->tree().value(kernel, 64);
  CHECK(value.type == "numpy:float32[4,3]");
  const Bytes elements = container->tree().reader()->elements(kernel);
  REQUIRE(elements.size() == 48);
  CHECK(load_le<float>(elements.data()) == 0x1.a7b7bcp-1f);        // of the first chunk
  CHECK(load_le<float>(elements.data() + 44) == -0x1.7edd24p-3f);  // of the second
}

TEST_CASE("elements of a chunked array change in the chunks that hold them, and nowhere else") {
  const Bytes image = corpus_bytes("flax/msgpack_chunked/state.msgpack");
  const auto container = open_image(image);
  const NodeId kernel = node_at(container->tree(), {"params", "kernel"});
  const NodeChange both{kernel, NewElements{{0, 1.5}, {11, -2.5}}, "two elements"};
  const Bytes changed = applied(image, container->change({&both, 1}));
  const auto reopened = open_image(changed);
  const Bytes before = container->tree().reader()->elements(kernel);
  const Bytes after = reopened->tree().reader()->elements(node_at(reopened->tree(), {"params", "kernel"}));
  CHECK(load_le<float>(after.data()) == 1.5F);
  CHECK(load_le<float>(after.data() + 44) == -2.5F);
  CHECK(Bytes(after.begin() + 4, after.begin() + 44) == Bytes(before.begin() + 4, before.begin() + 44));
  CHECK(changed.size() == image.size());
  const NodeChange last{kernel, NewElements{{11, -2.5}}, "one element"};
  CHECK(changed_offsets(image, applied(image, container->change({&last, 1}))).size() <= 4);
}

TEST_CASE("a float or an array's element is patched in place") {
  for (const auto* file : {"flax/to_bytes_stepped/state.msgpack", "flax/to_bytes_fresh/state.msgpack"}) {
    const Changed changed = change_value(corpus_bytes(file), {"dynamic_scale", "scale"}, 48.5);
    CHECK(number_at(*changed.container, {"dynamic_scale", "scale"}) == 48.5);
    CHECK_FALSE(changed.change.splice.has_value());
  }
}

TEST_CASE("an int keeps its size where it fits, longer than need be, and else the file is spliced") {
  const Bytes image = corpus_bytes("flax/to_bytes_fresh/state.msgpack");
  const Changed grown = change_value(image, {"dynamic_scale", "fin_steps"}, Integer{300, {}});
  CHECK(number_at(*grown.container, {"dynamic_scale", "fin_steps"}) == 300);
  CHECK(grown.image.size() == image.size() + 2);
  const Changed back = change_value(grown.image, {"dynamic_scale", "fin_steps"}, Integer{5, {}});
  CHECK(number_at(*back.container, {"dynamic_scale", "fin_steps"}) == 5);
  CHECK(back.image.size() == grown.image.size());
}

TEST_CASE("every width of integer is read, and holds its limits") {
  CHECK(number_at(*open_image(map_of("\xff"sv)), {"n"}) == -1);
  CHECK(number_at(*open_image(map_of("\xd1\x80\0"sv)), {"n"}) == -32768);
  CHECK(number_at(*open_image(map_of("\xce\xff\xff\xff\xff"sv)), {"n"}) == 4294967295.0);
  CHECK(number_at(*open_image(map_of("\xd3\x80\0\0\0\0\0\0\0"sv)), {"n"}) == -0x1p63);
  CHECK(number_at(*open_image(map_of("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"sv)), {"n"}) == 0x1p64);
  for (const std::int64_t value : {-32769LL, -129LL, -1LL, 127LL, 128LL, 65536LL, 1LL << 40}) {
    const Changed changed = change_value(map_of("\x01"sv), {"n"}, Integer{value, {}});
    CHECK(number_at(*changed.container, {"n"}) == static_cast<double>(value));
  }
}

TEST_CASE("an int of five bytes becomes any fraction, and is not taken for a float32, which holds few") {
  for (const auto old : {"\xce\0\x01\0\0"sv, "\xd2\0\x01\0\0"sv, "\x07"sv}) {
    CHECK(number_at(*change_value(map_of(old), {"n"}, 0.1).container, {"n"}) == 0.1);
  }
  CHECK(change_value(map_of("\xce\0\x01\0\0"sv), {"n"}, 0.5).image == map_of("\xcb\x3f\xe0\0\0\0\0\0\0"sv));
}

TEST_CASE("a fraction that a float32 would round is refused with the nearest that it holds, as no fault of tare's") {
  const Bytes image = map_of("\xca\x47\x80\0\0"sv);
  const auto before = open_image(image);
  const NodeChange change{node_at(before->tree(), {"n"}), 0.1, "n"};
  CHECK_THROWS_WITH(before->change({&change, 1}), Catch::Contains("n: float32 cannot hold it"));
  try {
    static_cast<void>(before->change({&change, 1}));
  } catch (const Error& error) {
    CHECK_THAT(error.hint, Catch::Contains("0.10000000149011612"));
  }
  CHECK(number_at(*change_value(image, {"n"}, 0.10000000149011612).container, {"n"}) == 0.10000000149011612);
}

TEST_CASE("a text of 4,096 bytes is read, and a longer one is kept unread") {
  const auto kind = [](std::size_t length) {
    const std::string head{'\xda', static_cast<char>(length >> 8), static_cast<char>(length & 255)};
    const auto container = open_image(map_of(head + std::string(length, 'x')));
    return container->tree().kind(node_at(container->tree(), {"n"}));
  };
  CHECK(kind(4096) == Kind::string);
  CHECK(kind(4097) == Kind::opaque);
}

TEST_CASE("a text keeps all of its bytes, and a map and a shape all that they count, however many") {
  for (const std::size_t length : {0U, 31U, 255U, 256U, 4096U}) {
    const std::string text(length, 'x');
    const auto container = open_image(new_msgpack({DocumentMap{{"n", {text}}}}));
    CHECK(container->tree().text(node_at(container->tree(), {"n"})) == text);
  }
  for (const std::size_t count : {15U, 16U, 65'535U, 65'536U}) {
    DocumentMap many;
    for (std::size_t i = 0; i < count; ++i) many.push_back({std::to_string(i), {static_cast<std::int64_t>(i)}});
    const auto container = open_image(new_msgpack({std::move(many)}));
    CHECK(container->tree().items(container->tree().root).size() == 2 * count);
    CHECK(number_at(*container, {std::to_string(count - 1)}) == static_cast<double>(count - 1));
  }
  for (const std::size_t dimensions : {0U, 15U, 16U, 32U}) {
    DocumentTensor tensor{element_type("float32"), std::vector<std::int64_t>(dimensions, 1),
                          bytes_of("\0\0\x80\x3f"sv)};
    const auto container = open_image(new_msgpack({DocumentMap{{"n", {std::move(tensor)}}}}));
    CHECK(container->findings().empty());
    CHECK(container->tree().tensor(node_at(container->tree(), {"n"})).shape.size() == dimensions);
    CHECK(number_at(*container, {"n"}) == 1);
  }
}

TEST_CASE("a text without letters, bytes and an array without elements are read at the end of a file, too") {
  for (const auto empty :
       {"\xa0"sv, "\xd9\0"sv, "\xc4\0"sv, "\x90"sv, "\x80"sv, "\xc7\x0b\x01\x93\x91\0\xa5int32\xc4\0"sv}) {
    const auto container = open_image(map_of(empty));
    CHECK(container->findings().empty());
    CHECK(node_at(container->tree(), {"n"}) != nowhere);
  }
  for (const auto cut : {"\xa1"sv, "\xd9"sv, "\xd9\1"sv, "\xc4\1"sv, "\x91"sv})
    CHECK_THROWS_AS(open_image(map_of(cut)), Error);
}

TEST_CASE("what a scaler is made of comes back from msgpack as it went in, and objects of classes are refused") {
  const auto container = open_image(new_msgpack({DocumentMap{{"none", {}},
                                                             {"yes", {true}},
                                                             {"no", {false}},
                                                             {"small", {std::int64_t{127}}},
                                                             {"large", {std::int64_t{1} << 40}},
                                                             {"negative", {std::int64_t{-1}}},
                                                             {"real", {0.1}},
                                                             {"inner", {DocumentMap{{"deep", {2.0}}}}}}}));
  const Tree& tree = container->tree();
  CHECK(tree.kind(node_at(tree, {"none"})) == Kind::none);
  CHECK(type_at(*container, {"yes"}) == "bool");
  CHECK(number_at(*container, {"yes"}) == 1);
  CHECK(number_at(*container, {"no"}) == 0);
  CHECK(type_at(*container, {"small"}) == "int");
  CHECK(number_at(*container, {"small"}) == 127);
  CHECK(number_at(*container, {"large"}) == 0x1p40);
  CHECK(number_at(*container, {"negative"}) == -1);
  CHECK(number_at(*container, {"real"}) == 0.1);
  CHECK(number_at(*container, {"inner", "deep"}) == 2);
  for (const Document& other : {Document{DocumentObject{"m", "C", {}}}, Document{DocumentName{"m", "C"}},
                                Document{DocumentCall{"m", "C", {}}}, Document{DocumentStream{}}}) {
    CHECK_THROWS_AS(new_msgpack(other), Error);
  }
}

TEST_CASE("a value goes where None is, entries into a map that is empty, and nowhere else") {
  const Bytes image = bytes_of(
      "\x84\xa4none\xc0\xa5"
      "empty\x80\xa1n\x07\xa4"
      "full\x81\xa1k\x01"sv);
  const auto before = open_image(image);
  REQUIRE(before->can_add());
  const Tree& tree = before->tree();
  const NodeChange both[] = {{node_at(tree, {"none"}), NewDocument{{2.5}}, "a value"},
                             {node_at(tree, {"empty"}), NewEntries{{{"scale", {8.0}}}}, "an entry"}};
  const auto after = open_image(applied(image, before->change(both)));
  CHECK(number_at(*after, {"none"}) == 2.5);
  CHECK(number_at(*after, {"empty", "scale"}) == 8);
  CHECK(number_at(*after, {"n"}) == 7);
  CHECK(number_at(*after, {"full", "k"}) == 1);
  const NodeChange value{node_at(tree, {"n"}), NewDocument{{2.5}}, "n"};
  CHECK_THROWS_WITH(before->change({&value, 1}), Catch::Contains("n: a value is there"));
  const NodeChange entries{node_at(tree, {"full"}), NewEntries{{{"scale", {8.0}}}}, "full"};
  CHECK_THROWS_WITH(before->change({&entries, 1}), Catch::Contains("it holds something already"));
}

TEST_CASE("an array of another size is written where it stood, and one in chunks is refused") {
  const Bytes image = corpus_bytes("flax/to_bytes_stepped/state.msgpack");
  const auto before = open_image(image);
  const NewTensor pair{{2}, bytes_of("\0\0\x80\x3f\0\0\0\x40"sv)};
  const NodeId scale = node_at(before->tree(), {"dynamic_scale", "scale"});
  const NodeChange longer{scale, pair, "scale"};
  const auto after = open_image(applied(image, before->change({&longer, 1})));
  CHECK(differing(before->tree(), after->tree()) == std::vector<NodeId>{scale});
  CHECK(type_at(*after, {"dynamic_scale", "scale"}) == "numpy:float32[2]");
  CHECK(after->tree().reader()->elements(scale) == pair.elements);

  const auto chunked = open_corpus("flax/msgpack_chunked/state.msgpack");
  const NodeChange shorter{node_at(chunked->tree(), {"params", "kernel"}), pair, "kernel"};
  CHECK_THROWS_WITH(chunked->change({&shorter, 1}), Catch::Contains("kernel: its elements do not stand in one piece"));
}

TEST_CASE("a float32 keeps its four bytes and takes no more than it can hold, an int 64 bits, a flag one byte") {
  const Bytes single = map_of("\xca\x3f\x80\0\0"sv);
  const Changed halved = change_value(single, {"n"}, 0.5);
  CHECK(halved.image == map_of("\xca\x3f\0\0\0"sv));
  CHECK(std::isinf(number_at(*change_value(single, {"n"}, HUGE_VAL).container, {"n"})));
  const auto before = open_image(single);
  const NodeChange large{node_at(before->tree(), {"n"}), 1e300, "n"};
  CHECK_THROWS_WITH(before->change({&large, 1}), Catch::Contains("n: float32 cannot hold it"));
  const NodeChange big{node_at(before->tree(), {"n"}), Integer{0, "36893488147419103232"}, "n"};
  CHECK_THROWS_WITH(before->change({&big, 1}), Catch::Contains("n: msgpack holds integers of 64 bits"));
  CHECK(change_value(map_of("\xc2"sv), {"n"}, true).image == map_of("\xc3"sv));
  CHECK(change_value(map_of("\xc3"sv), {"n"}, false).image == map_of("\xc2"sv));
}

TEST_CASE("msgpack made to break readers is refused, or opened with what is wrong") {
  for (const Answer& answer : answers) check_answer(answer);
}

// What every format is read into: nodes, their texts and items, addresses, and values with their kinds.
#include "lib/tree/tree.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/tree/path.hpp"
#include "lib/tree/plain_tree.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

NodeId integer(Tree& tree, std::int64_t value) {
  Node node;
  node.kind = Kind::integer;
  node.as.integer = value;
  return tree.add(node);
}

NodeId text(Tree& tree, std::string_view value) {
  return tree.add_side_text(Kind::string, value, {});
}

}  // namespace

TEST_CASE("an int of any size is the double nearest to it, an infinity where there is none") {
  const std::string zeros(400, '0');
  CHECK(Integer{0, "18446744073709551616"}.as_double() == 0x1p64);
  CHECK(Integer{0, "1" + zeros}.as_double() == std::numeric_limits<double>::infinity());
  CHECK(Integer{0, "-1" + zeros}.as_double() == -std::numeric_limits<double>::infinity());
  CHECK(Integer{-3, {}}.as_double() == -3);
}

TEST_CASE("a map is asked by its text keys, and gives nowhere for what is not there") {
  Tree tree;
  const std::array<NodeId, 4> pairs{text(tree, "scale"), integer(tree, 7), integer(tree, 3), text(tree, "three")};
  tree.root = tree.add_items(Kind::map, pairs, {});
  CHECK(tree.find(tree.root, "scale") == pairs[1]);
  CHECK(tree.find(tree.root, "3") == nowhere);  // an integer is no text
  CHECK(tree.find(tree.root, "step") == nowhere);
  CHECK(tree.find(pairs[1], "scale") == nowhere);
  CHECK(tree.find(nowhere, "scale") == nowhere);
  CHECK(tree.key_text(pairs[2]) == "3");
  CHECK(tree.items(pairs[0]).empty());
  CHECK(tree.items(nowhere).empty());
}

TEST_CASE("items grow, are replaced and forgotten, and other nodes keep theirs") {
  Tree tree;
  const NodeId one = integer(tree, 1);
  const NodeId two = integer(tree, 2);
  const NodeId list = tree.add_items(Kind::list, std::array{one}, {});
  const NodeId other = tree.add_items(Kind::list, std::array{two, two}, {});
  for (int i = 0; i < 100; ++i) tree.append_items(list, std::array{two});
  CHECK(tree.items(list).size() == 101);
  CHECK(tree.items(list)[0] == one);
  CHECK(tree.items(list)[100] == two);
  CHECK(tree.items(other).size() == 2);
  tree.replace_item(list, 100, one);
  CHECK(tree.items(list)[100] == one);
  tree.truncate_items(list, 1);
  CHECK(tree.items(list).size() == 1);
}

TEST_CASE("another tree's nodes are taken over in their order, with texts and items") {
  Tree part;
  const NodeId key = text(part, "key");
  const std::array<NodeId, 2> pairs{key, part.add_big_integer("18446744073709551616", {})};
  part.root = part.add_items(Kind::map, pairs, {});
  Tree whole;
  integer(whole, 1);
  const NodeId first = whole.graft(part);
  CHECK(first == 1);
  const NodeId value = whole.find(first + part.root, "key");
  CHECK(whole.integer(value).text() == "18446744073709551616");
  CHECK(whole.integer(value).is_big());
}

TEST_CASE("values keep their kinds, and are the same only if kind and bits are") {
  Tree tree;
  CHECK(tree.value(integer(tree, 65536), 1).type == "int");
  CHECK(tree.value(text(tree, "x"), 1).type == "str");
  CHECK(tree.value(tree.add(Node{}), 1).type == "None");
  const Value whole{Integer{65536, {}}, "int"};
  const Value real{65536.0, "float"};
  const Value not_a_number{std::nan(""), "float"};
  CHECK(same(whole, whole));
  CHECK(!same(whole, real));
  CHECK(same(not_a_number, not_a_number));
  CHECK(!same(Value{0.0, "float"}, Value{-0.0, "float"}));
  CHECK(Value{ValueList{real}, "list"}.number() != nullptr);
  CHECK(Value{ValueList{real, real}, "list"}.number() == nullptr);
}

TEST_CASE("a type's element is read and written as it is stored, or refused") {
  const ElementType half = element_type("float16");
  REQUIRE(half.size == 2);
  CHECK(element_bytes(half, 1.5, std::endian::little) == Bytes{std::byte{0x00}, std::byte{0x3e}});
  CHECK(element_bytes(half, 1.5, std::endian::big) == Bytes{std::byte{0x3e}, std::byte{0x00}});
  CHECK(element_value(half, element_bytes(half, 1.5, std::endian::little).data()).as_double() == 1.5);
  CHECK_THROWS_AS(element_bytes(half, 65536, std::endian::little), Error);
  CHECK_THROWS_AS(element_bytes(element_type("int32"), 0.5, std::endian::little), Error);
  CHECK_THROWS_AS(element_bytes(element_type("int32"), 2147483648.0, std::endian::little), Error);
  CHECK(element_type("no such type").size == 0);
}

TEST_CASE("a scale of a block is a power of two from 2^-127 to 2^127 or NaN, and no other number is rounded to one") {
  const ElementType type = element_type("float8_e8m0fnu");
  REQUIRE(type.size == 1);
  const auto code_of = [&](double number) { return element_bytes(type, number, std::endian::little).at(0); };
  CHECK(code_of(1.0) == std::byte{127});
  CHECK(code_of(0x1p-127) == std::byte{0});
  CHECK(code_of(0x1p127) == std::byte{254});
  CHECK(code_of(std::nan("")) == std::byte{255});
  for (const double other : {3.0, 1.5, 0.0, -1.0, 0x1p-128, 0x1p128, std::numeric_limits<double>::infinity()}) {
    INFO(other);
    CHECK_THROWS_AS(code_of(other), Error);
  }
  for (const std::uint8_t code : {std::uint8_t{0}, std::uint8_t{130}, std::uint8_t{254}}) {
    const std::byte stored{code};
    CHECK(code_of(element_value(type, &stored).as_double()) == stored);
  }
}

TEST_CASE("arrays are the same if their bits are or are both NaN's, and complex ones by their bits alone") {
  const auto array_of = [](std::string_view type, std::initializer_list<std::uint64_t> bits) {
    const ElementType element = element_type(type);
    Bytes bytes;
    for (const std::uint64_t one : bits) append_le(bytes, one);
    const auto count = static_cast<std::int64_t>(bytes.size() / element.size);
    return Value{PackedArray{element, {count}, bytes}, "tensor"};
  };
  constexpr std::uint64_t one = 0x3ff0000000000000, nan = 0x7ff8000000000000, other_nan = 0xfff8000000000001;
  CHECK(same(array_of("float64", {one, nan}), array_of("float64", {one, nan})));
  CHECK(same(array_of("float64", {one, nan}), array_of("float64", {one, other_nan})));
  CHECK_FALSE(same(array_of("float64", {one, nan}), array_of("float64", {nan, one})));
  CHECK_FALSE(same(array_of("float64", {one, one}), array_of("float64", {one})));
  CHECK(same(array_of("complex64", {one}), array_of("complex64", {one})));
  CHECK_FALSE(same(array_of("complex64", {one}), array_of("complex64", {one + 1})));
  CHECK_FALSE(same(array_of("complex128", {one, one}), array_of("complex128", {one, 0})));
}

TEST_CASE("addresses have dots for keys and brackets for items") {
  CHECK(key_path("", "state") == "state");
  CHECK(key_path("state", "scaler") == "state.scaler");
  CHECK(item_path("state.scalers", 1) == "state.scalers[1]");
  CHECK(item_path("", 0) == "[0]");
}

TEST_CASE("plain values nest in the order of the file, and know their places") {
  PlainTree plain("x", nullptr);
  plain.open(Kind::map, {0, 1});
  CHECK(plain.wants_key());
  plain.text(Kind::string, "a", {1, 3});
  CHECK(!plain.wants_key());
  plain.open(Kind::list, {5, 1});
  plain.integer(1, {6, 1});
  plain.floating(0.5, {8, 3});
  const NodeId list = plain.close(12);
  const NodeId map = plain.close(13);
  CHECK(plain.depth() == 0);
  CHECK(plain.tree().root == map);
  CHECK(plain.tree().find(map, "a") == list);
  CHECK(plain.place(list) == Span{5, 7});
  CHECK(plain.place(plain.tree().items(list)[1]) == Span{8, 3});
}

TEST_CASE("of two values of one key the last counts, and a finding tells") {
  PlainTree plain("x", nullptr);
  plain.open(Kind::map, {});
  for (const std::int64_t value : {1, 2}) {
    plain.text(Kind::string, "a", {});
    plain.integer(value, {});
  }
  const NodeId map = plain.close();
  CHECK(plain.tree().items(map).size() == 2);
  CHECK(plain.tree().integer(plain.tree().find(map, "a")).value == 2);
  REQUIRE(plain.findings.size() == 1);
  CHECK(plain.findings[0].code == "duplicate-key");
}

TEST_CASE("nesting without end is refused") {
  PlainTree plain("deep.json", nullptr);
  const auto nest = [&] {
    for (;;) plain.open(Kind::list, {});
  };
  CHECK_THROWS_WITH(nest(), Catch::Contains("deep.json: nested more than 1000 deep"));
}

TEST_CASE("what is added is taken from a budget") {
  const auto budget = std::make_shared<Budget>("small.json", 10);
  PlainTree plain("small.json", budget);
  plain.open(Kind::list, {});
  const auto fill = [&] {
    for (;;) plain.integer(1, {});
  };
  CHECK_THROWS_AS(fill(), Error);
  CHECK(budget->is_spent());
}

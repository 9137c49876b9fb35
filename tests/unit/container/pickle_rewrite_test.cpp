#include "lib/container/pickle/write/rewrite.hpp"

#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/python_pickles.hpp"

using namespace tare;
using namespace std::string_literals;

namespace {

/// A pickle as Python's protocol 2 writes {"scale": ..., "n": ...}: each string is put into the memo and never fetched.
struct Written {
  explicit Written(const std::string& text)
      : pickle(read_pickle(std::make_shared<const Bytes>(as_bytes(text).begin(), as_bytes(text).end()), "test")),
        tensors(pickle.tree, nullptr) {}

  [[nodiscard]] NodeId find(std::string_view key) const { return pickle.tree.find(pickle.tree.root, key); }
  [[nodiscard]] Bytes changed(std::string_view key, NodeValue value) const {
    const NodeChange change{find(key), std::move(value), std::string(key)};
    return rewrite_pickle(pickle, 0, tensors, std::span(&change, 1)).pickle;
  }

  Pickle pickle;
  PickleTensors tensors;
};

Pickle reread(const Bytes& bytes) {
  return read_pickle(std::make_shared<const Bytes>(bytes), "test");
}

Value value_at(const Pickle& pickle, std::string_view key) {
  return pickle.tree.value(pickle.tree.find(pickle.tree.root, key), 1);
}

const std::string two_ints = "\x80\x02}q\0(X\x05\0\0\0scaleq\x01J\0\0\x01\0X\x01\0\0\0nq\x02K\x03u."s;

/// {"a": ..., "b": ...}: b is what the memo's slot 1 has, of protocol 3, or what `second` writes.
std::string two_places(std::string_view first, std::string_view second = "h\x01") {
  return std::string("\x80\x03}(X\x01\0\0\0a"s).append(first).append("X\x01\0\0\0b"s).append(second).append("u.");
}

/// numpy.float32 of these bytes.
std::string float32_scalar(std::string_view raw) {
  return std::string(
             "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX\x02\0\0\0f4K\0K\x01\x87R(K\x03X\x01\0\0\0<NNN"
             "J\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"s)
      .append(raw)
      .append("\x86R");
}

}  // namespace

TEST_CASE("an int that still fits its opcode changes its bytes alone") {
  const Bytes after = Written(two_ints).changed("scale", Integer{1024, {}});
  CHECK(as_text(after) == "\x80\x02}q\0(X\x05\0\0\0scaleq\x01J\0\x04\0\0X\x01\0\0\0nq\x02K\x03u."s);
}

TEST_CASE("two changes of one value are an error, and no pickle of a length that cannot be") {
  const Written written(two_ints);
  const std::vector<NodeChange> both(2, NodeChange{written.find("scale"), Integer{1024, {}}, "scale"});
  CHECK_THROWS_WITH(rewrite_pickle(written.pickle, 0, written.tensors, both),
                    Catch::Contains("two changes of a pickle's bytes at offset"));
}

TEST_CASE("a numpy value or an object of bytes that two places share is refused, not changed in both") {
  const std::string raw = "C\x04\0\0\x80\x47"s;
  const auto shares = Catch::Contains("another place of the file shares that very value");
  const Written one(two_places(float32_scalar(raw) + "q\x01"));
  CHECK_THROWS_WITH(one.changed("a", 512.0), shares);
  CHECK_THROWS_WITH(one.changed("b", 512.0), shares);
  const Written bytes(two_places(float32_scalar(raw + "q\x01"), float32_scalar("h\x01")));
  CHECK_THROWS_WITH(bytes.changed("a", 512.0), shares);
  const Written object(two_places("c_io\nBytesIO\n" + raw + "\x85Rq\x01"));
  CHECK_THROWS_WITH(object.changed("a", NewContents{Bytes(4)}), shares);
  const Written apart(two_places(float32_scalar(raw), float32_scalar(raw)));
  const Pickle after = reread(apart.changed("a", 512.0));
  const PickleTensors tensors(after.tree, nullptr);
  CHECK(as_text(tensors.elements(after.tree.find(after.tree.root, "a"))) == "\0\0\0\x44"s);
  CHECK(as_text(tensors.elements(after.tree.find(after.tree.root, "b"))) == "\0\0\x80\x47"s);
}

TEST_CASE("room for a larger int comes from memo slots that nothing fetches") {
  const Bytes after = Written(two_ints).changed("n", Integer{300, {}});
  CHECK(after.size() == two_ints.size());
  CHECK(std::get<Integer>(value_at(reread(after), "n").data).value == 300);
  CHECK(std::get<Integer>(value_at(reread(after), "scale").data).value == 65536);
}

TEST_CASE("an int becomes a float in the same room where the memo has it") {
  const Bytes after = Written(two_ints).changed("scale", 0.5);
  CHECK(after.size() == two_ints.size());
  CHECK(std::get<double>(value_at(reread(after), "scale").data) == 0.5);
}

TEST_CASE("a memo slot that is fetched stays, and the pickle grows instead") {
  // Both strings and the dict are fetched once more, into a tuple that is thrown away.
  const std::string all_fetched =
      "\x80\x02}q\0(X\x05\0\0\0scaleq\x01J\0\0\x01\0X\x01\0\0\0nq\x02K\x03uh\0h\x01h\x02\x87"
      "0."s;
  const Bytes after = Written(all_fetched).changed("n", Integer{70000, {}});
  CHECK(after.size() == all_fetched.size() + 3);
  CHECK(std::get<Integer>(value_at(reread(after), "n").data).value == 70000);
}

TEST_CASE("the length of a frame follows what is in it") {
  // Protocol 4: MEMOIZE numbers slots by counting, so nothing may go; the frame grows.
  const std::string framed = "\x80\x04\x95\x13\0\0\0\0\0\0\0}\x94(\x8c\x05scale\x94K\x03\x8c\x01nNu."s;
  const Bytes after = Written(framed).changed("scale", Integer{70000, {}});
  CHECK(after.size() == framed.size() + 3);
  CHECK(std::to_integer<int>(after[3]) == 0x16);
  CHECK(std::get<Integer>(value_at(reread(after), "scale").data).value == 70000);
}

TEST_CASE("a value that another place shows too is refused") {
  const std::string shared = "\x80\x02}q\0(X\x05\0\0\0scaleJ\0\0\x01\0q\x01X\x01\0\0\0nh\x01u."s;
  CHECK_THROWS_AS(Written(shared).changed("scale", Integer{5, {}}), Error);
}

TEST_CASE("numbers written as text stay text") {
  const std::string text = "(dp0\nVscale\np1\nF1024.5\nsVn\np2\nI7\ns."s;
  const Bytes after = Written(text).changed("scale", 0.125);
  CHECK(as_text(after).find("F0.125\n") != std::string_view::npos);
  CHECK(std::get<double>(value_at(reread(after), "scale").data) == 0.125);
  const Bytes longer = Written(text).changed("n", Integer{12345, {}});
  CHECK(as_text(longer) == "(dp0\nVscale\np1\nF1024.5\nsVn\np2\nI12345\ns.");
}

TEST_CASE("every size of int finds its way, up and down") {
  for (const std::int64_t value : {0LL, 1LL, -1LL, 255LL, 256LL, 65535LL, 65536LL, -40000LL, 2147483647LL, 4294967296LL,
                                   -9223372036854775807LL - 1}) {
    CAPTURE(value);
    const Bytes after = Written(two_ints).changed("n", Integer{value, {}});
    CHECK(std::get<Integer>(value_at(reread(after), "n").data).value == value);
    CHECK(std::get<Integer>(value_at(reread(after), "scale").data).value == 65536);
  }
}

TEST_CASE("where all room comes in fives an int is written longer than need be, up to ten bytes, and nothing moves") {
  struct Old {
    std::string opcode;
    std::int64_t most_kept;  ///< up to which, and down to whose complement, nothing moves
  };
  const Old olds[] = {{"K\x03"s, (1LL << 39) - 1}, {"M\0\x03"s, (1LL << 47) - 1}, {"J\0\0\x03\0"s, INT64_MAX}};
  for (const auto& [opcode, most_kept] : olds) {
    const std::string text =
        "\x80\x02}r\0\x01\0\0(X\x05\0\0\0scaler\x01\x01\0\0"s + opcode + "X\x01\0\0\0nr\x02\x01\0\0K\x07u."s;
    const Written written(text);
    for (int bits = 0; bits < 63; ++bits) {
      for (const std::int64_t value : {(1LL << bits) - 1, 1LL << bits, -(1LL << bits)}) {
        INFO(opcode.size() << " bytes become " << value);
        const Bytes after = written.changed("scale", Integer{value, {}});
        const std::int64_t magnitude = value < 0 ? -(value + 1) : value;
        CHECK((after.size() == text.size()) == (magnitude <= most_kept));
        CHECK(std::get<Integer>(value_at(reread(after), "scale").data).value == value);
        CHECK(std::get<Integer>(value_at(reread(after), "n").data).value == 7);
      }
    }
  }
}

TEST_CASE("of several ints those that keep their size leave room and frames to those that do not") {
  const std::string framed = "\x80\x04\x95\x18\0\0\0\0\0\0\0}\x94(\x8c\x05scale\x94J\0\0\x01\0\x8c\x01n\x94K\x03u."s;
  for (const std::string& text : {framed, two_ints}) {
    const Written written(text);
    for (const std::int64_t n : {5, 70000}) {
      const std::vector<NodeChange> changes = {{written.find("scale"), Integer{1024, {}}, "scale"},
                                               {written.find("n"), Integer{n, {}}, "n"}};
      const Bytes after = rewrite_pickle(written.pickle, 0, written.tensors, changes).pickle;
      CHECK(std::get<Integer>(value_at(reread(after), "scale").data).value == 1024);
      CHECK(std::get<Integer>(value_at(reread(after), "n").data).value == n);
      if (text == framed) CHECK(load_le<std::uint64_t>(after.data() + 3) == after.size() - 11);
      if (text == two_ints) CHECK(after.size() == text.size());
    }
  }
}

TEST_CASE("room for a number is made at the memo slot next to it, before it or behind it") {
  const std::string first = "\x80\x02}(X\x01\0\0\0ar\0\x01\0\0K\x01X\x01\0\0\0bK\x02X\x03\0\0\0farK\x03"s;
  const std::string rest = "X\x01\0\0\0cK\x04X\x01\0\0\0dr\x01\x01\0\0K\x05u."s;
  const std::string text = first + rest;
  constexpr std::int64_t of_seven_bytes = (1LL << 39) - 1;
  for (const auto& [key, slot] : {std::pair{"b", "r\0\x01\0\0"s}, std::pair{"c", "r\x01\x01\0\0"s}}) {
    const Bytes after = Written(text).changed(key, Integer{of_seven_bytes, {}});
    CHECK(after.size() == text.size());
    CHECK(std::get<Integer>(value_at(reread(after), key).data).value == of_seven_bytes);
    CHECK(as_text(after).find(slot) == std::string_view::npos);
  }
}

TEST_CASE("runs that differ are patches of their own unless they are close") {
  const Bytes before(40, std::byte{1});
  Bytes after = before;
  after[2] = after[5] = after[30] = std::byte{9};
  const auto runs = differing_runs(before, after, 100, "x");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].offset == 102);
  CHECK(runs[0].after.size() == 4);
  CHECK(runs[1].offset == 130);
  CHECK(runs[1].after.size() == 1);
}

namespace {

const DocumentMap entries = {{"scale", {512.0}}, {"steps", {std::int64_t{-3}}}, {"on", {true}}};

Bytes with(const Written& written, NodeId node, NodeValue value) {
  const NodeChange change{node, std::move(value), "a scaler"};
  return rewrite_pickle(written.pickle, 0, written.tensors, std::span(&change, 1)).pickle;
}

void check_entries(const Tree& tree, NodeId map) {
  REQUIRE(tree.kind(map) == Kind::map);
  CHECK(tree.items(map).size() == 2 * entries.size());
  CHECK(std::get<double>(tree.value(tree.find(map, "scale"), 1).data) == 512.0);
  CHECK(tree.integer(tree.find(map, "steps")).value == -3);
  CHECK(tree.kind(tree.find(map, "on")) == Kind::boolean);
}

}  // namespace

TEST_CASE("an empty dict takes entries, and None a dict, in every protocol") {
  for (const std::string_view text : test::python_pickles) {
    const Written written{std::string(text)};
    const Tree& tree = written.pickle.tree;
    const Pickle filled = reread(with(written, tree.items(written.find("empty"))[0], NewEntries{entries}));
    check_entries(filled.tree, filled.tree.items(filled.tree.find(filled.tree.root, "empty"))[0]);
    const Pickle replaced = reread(with(written, tree.items(written.find("fixed"))[2], NewDocument{{entries}}));
    check_entries(replaced.tree, replaced.tree.items(replaced.tree.find(replaced.tree.root, "fixed"))[2]);
    CHECK(replaced.tree.items(replaced.tree.root).size() == tree.items(tree.root).size());
  }
}

TEST_CASE("values that stand one behind the other are exchanged together") {
  const Written list("\x80\x02]q\0(K\x01K\x02K\x03\x65."s);
  const auto items = list.pickle.tree.items(list.pickle.tree.root);
  const std::vector<NodeChange> changes = {{items[0], NewDocument{{entries}}, "first"},
                                           {items[1], NewDocument{{entries}}, "second"}};
  const Pickle after = reread(rewrite_pickle(list.pickle, 0, list.tensors, changes).pickle);
  const auto exchanged = after.tree.items(after.tree.root);
  REQUIRE(exchanged.size() == 3);
  for (std::size_t i = 0; i < 2; ++i) check_entries(after.tree, exchanged[i]);
  CHECK(std::get<Integer>(after.tree.value(exchanged[2], 1).data).value == 3);
}

TEST_CASE("a value and a part of it are not exchanged together") {
  const Written list("\x80\x02]q\0(]q\1K\x01\x61K\x02\x65."s);
  const NodeId inner = list.pickle.tree.items(list.pickle.tree.root)[0];
  const std::vector<NodeChange> changes = {{inner, NewDocument{{entries}}, "the list"},
                                           {list.pickle.tree.items(inner)[0], NewDocument{{entries}}, "its item"}};
  const auto both = [&] { rewrite_pickle(list.pickle, 0, list.tensors, changes); };
  CHECK_THROWS_WITH(both(), "its item: is shared with another value that goes");
}

TEST_CASE("a stream that was made and filled becomes None, and what was not filled, or is no object, is refused") {
  const auto holding = [](const std::string& value) {
    return Written("\x80\x03}(X\x05\0\0\0state"s + value + "X\x01\0\0\0nK\x03u."s);
  };
  const std::string made = "c_io\nBytesIO\nq\0)\x81q\x01"s;
  for (const std::string& state : {"C\2abK\0N\x87"s, "C\2abK\0N\x87q\2"s, "(C\2abK\0Nt"s}) {
    const Bytes after = holding(made + state + "b").changed("state", NewNone{});
    CHECK(value_at(reread(after), "state").type == "None");
    CHECK(std::get<Integer>(value_at(reread(after), "n").data).value == 3);
  }
  for (const std::string& other : {made, "K\x01"s, "}"s, "X\x01\0\0\0a"s}) {
    INFO(other);
    CHECK_THROWS_WITH(holding(other).changed("state", NewNone{}),
                      Catch::Contains("is no object that could become None"));
  }
  CHECK_THROWS_WITH(holding(made + "}X\1\0\0\0aK\1sb"s).changed("state", NewNone{}),
                    Catch::Contains("is written in an unusual way"));
}

TEST_CASE("entries go in front of those that a dict has") {
  const Written written(two_ints);
  const Pickle after = reread(with(written, written.pickle.tree.root, NewEntries{{{"more", {1.0}}}}));
  CHECK(std::get<double>(value_at(after, "more").data) == 1.0);
  CHECK(std::get<Integer>(value_at(after, "n").data).value == 3);
  CHECK(after.tree.key_text(after.tree.items(after.tree.root)[0]) == "more");
}

TEST_CASE("no entries are put into what is no dict, or into a dict that stands in two places") {
  const Written written(two_ints);
  CHECK_THROWS_AS(written.changed("n", NewEntries{entries}), Error);
  const Written twice("\x80\x02(}q\0h\0t."s);
  const Tree& tree = twice.pickle.tree;
  CHECK_THROWS_AS(with(twice, tree.items(tree.root)[0], NewEntries{entries}), Error);
}

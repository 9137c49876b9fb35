#include "lib/container/pickle/read/skip_object.hpp"

#include <string>

#include "lib/container/pickle/read/machine.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace std::string_literals;

namespace {

/// As CPython writes [C(n=1, t=(1, 2)), C(n=2, t=(3, 4)), "end", the same text again], protocol 4 without its frame.
const std::string first = "\x80\x04]\x94(\x8c\x01m\x94\x8c\x01"s + "C\x94\x93\x94)\x81\x94}\x94(\x8c\x01n\x94K\x01" +
                          "\x8c\x01t\x94K\x01K\x02\x86\x94ub";
const std::string second = ")\x81\x94}\x94(h\x06K\x02h\x07K\x03K\x04\x86\x94ub";
const std::string text_twice = "\x8c\x03" + "end\x94"s + "h\x0c";
constexpr std::uint64_t memo_before_second = 9;

Pickle read(const std::string& text, QualifiedName left_unread) {
  const auto bytes = std::make_shared<const Bytes>(as_bytes(text).begin(), as_bytes(text).end());
  return read_pickle(bytes, "test", 0, {.left_unread = {left_unread}});
}

const Pickle& without(const Pickle& pickle, std::size_t object, bool unread) {
  const NodeId node = pickle.tree.items(pickle.tree.root)[object];
  CHECK(pickle.tree.kind(node) == Kind::opaque);
  CHECK(pickle.tree.qualified_name(node) == QualifiedName{"m", "C"});
  CHECK((pickle.tree.state(node) == nowhere) == unread);
  return pickle;
}

}  // namespace

TEST_CASE("an object that nobody asks for is stepped over, and memo numbers behind it stay true") {
  const std::string text = first + "h\x03" + second + text_twice + "e.";
  const Pickle pickle = read(text, {"m", "C"});
  const Tree& tree = without(without(pickle, 0, false), 1, true).tree;
  const auto items = tree.items(tree.root);
  REQUIRE(items.size() == 4);
  CHECK(tree.text(items[2]) == "end");
  CHECK(items[3] == items[2]);
  CHECK(pickle.end == text.size());

  without(without(read(text, {}), 0, false), 1, false);
  without(without(read(text, {"m", "D"}), 0, false), 1, false);
}

TEST_CASE("what is fetched out of an object that was stepped over makes the machine read it after all") {
  const Pickle pickle = read(first + "h\x03" + second + text_twice + "h\x0b" + "e.", {"m", "C"});
  const Tree& tree = without(pickle, 1, false).tree;
  const auto items = tree.items(tree.root);
  REQUIRE(items.size() == 5);
  REQUIRE(tree.items(items[4]).size() == 2);
  CHECK(tree.integer(tree.items(items[4])[1]).value == 4);
}

TEST_CASE("an object is stepped over as far as its BUILD, and memoises as often as it says") {
  const auto object = skip_object(as_bytes(second + text_twice), 0, memo_before_second);
  REQUIRE(object);
  CHECK(object->end == second.size());
  CHECK(object->memoized == 3);
}

TEST_CASE("an object that is made in another way is left to the machine") {
  const auto changed = [](std::string_view from, std::string_view to) {
    std::string text = second;
    text.replace(text.find(from), from.size(), to);
    return skip_object(as_bytes(text), 0, memo_before_second);
  };
  CHECK(changed("K\x02", "K\x07"));
  CHECK_FALSE(changed(")\x81", "(t\x81"));                            // arguments of its own
  CHECK_FALSE(changed("K\x02", "cm\nD\n"));                           // a name that nobody has seen
  CHECK_FALSE(changed("K\x02", "h\x63"));                             // a slot that was never set
  CHECK_FALSE(changed("\x86\x94", "\x86q\x05"));                      // a slot that it chooses
  CHECK_FALSE(changed("h\x07K\x03K\x04\x86", "\x87"));                // takes what is not its own
  CHECK_FALSE(changed("}\x94(", "h\x05("));                           // fills what others see
  CHECK_FALSE(changed("}\x94(", "}\x94"));                            // no mark
  CHECK_FALSE(changed("K\x02", "(((((((((ttttttttt000000000K\x02"));  // deeper than any
}

TEST_CASE("an object that is cut off anywhere is not stepped over, and nothing behind the end is read") {
  for (std::size_t size = 0; size < second.size(); ++size) {
    const Bytes cut(as_bytes(second).begin(), as_bytes(second).begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(skip_object(cut, 0, memo_before_second).has_value());
  }
}

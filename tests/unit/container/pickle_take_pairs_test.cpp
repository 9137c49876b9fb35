#include <string>
#include <vector>

#include "lib/container/pickle/read/pickle.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace std::string_literals;

namespace {

/// M's state is {"p": {...}}, up to the mark behind which the pairs stand: memo numbers 0 to 6, 3 is the object, 6 the
/// dict that is filled.
const std::string head = "\x80\x04\x8c\x01m\x94\x8c\x01"s + "M\x94\x93\x94)\x81\x94}\x94(\x8c\x01p\x94}\x94";
/// {"a": [1], "b": [2]}: memo numbers 7 to 10; and {"c": [3], "d": [4]}: 11 to 14.
const std::string first_batch = "(\x8c\x01"s + "a\x94]\x94K\x01" + "a\x8c\x01" + "b\x94]\x94K\x02" + "au";
const std::string second_batch = "(\x8c\x01"s + "c\x94]\x94K\x03" + "a\x8c\x01" + "d\x94]\x94K\x04" + "au";
const std::string tail = "ub.";

/// Takes the pairs of the dict under "p" as texts and the only numbers of lists.
class Taken final : public PairTaker {
 public:
  bool take(const Tree& tree, NodeId name, NodeId, std::span<const NodeId> pairs) override {
    if (tree.text(name) != "p") return false;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      keys += tree.text(pairs[i]);
      numbers.push_back(tree.integer(tree.items(pairs[i + 1])[0]).value);
    }
    return true;
  }
  void start_anew() override { ++starts; }

  std::string keys;
  std::vector<std::int64_t> numbers;
  int starts = 0;
};

struct Read {
  Taken taken;
  Pickle pickle;

  [[nodiscard]] const Tree& tree() const { return pickle.tree; }
  [[nodiscard]] NodeId field(std::string_view name) const { return tree().find(tree().fields(tree().root), name); }
};

Read read(const std::string& text) {
  Read read;
  const auto bytes = std::make_shared<const Bytes>(as_bytes(text).begin(), as_bytes(text).end());
  read.pickle = read_pickle(bytes, "test", 0, {.taker = &read.taken});
  return read;
}

/// All pairs are in the tree, as if nobody had been asked.
void check_in_tree(const Read& read, std::size_t pairs) {
  CHECK(read.taken.starts == 1);
  CHECK(read.tree().items(read.field("p")).size() == 2 * pairs);
}

}  // namespace

TEST_CASE("pairs that somebody takes go out of the tree, and only their texts stay") {
  const Read both = read(head + first_batch + second_batch + tail);
  CHECK(both.taken.keys == "abcd");
  CHECK(both.taken.numbers == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(both.taken.starts == 0);
  CHECK(both.tree().kind(both.field("p")) == Kind::map);
  CHECK(both.tree().items(both.field("p")).empty());
  const std::size_t one = read(head + first_batch + tail).tree().size();
  CHECK(both.tree().size() == one + 2);
  CHECK(read(head + first_batch + second_batch + second_batch + tail).tree().size() == one + 4);
}

TEST_CASE("a text of pairs that were taken can be fetched behind them") {
  const Read again = read(head + first_batch + second_batch + "h\x0dh\x07" + tail);
  CHECK(again.taken.keys == "abcd");
  REQUIRE(again.field("d") != nowhere);
  CHECK(again.tree().text(again.field("d")) == "a");
}

TEST_CASE("a pair that stands alone is taken, too") {
  const Read alone = read(head + first_batch + "\x8c\x01"s + "c\x94]\x94K\x03" + "as" + tail);
  CHECK(alone.taken.keys == "abc");
  CHECK(alone.taken.starts == 0);
}

TEST_CASE("whoever fetches what went out of the tree gets it: the pickle is read anew") {
  const Read anew = read(head + first_batch + second_batch + "\x8c\x01x\x94h\x0e" + tail);
  check_in_tree(anew, 4);
  CHECK(anew.tree().integer(anew.tree().items(anew.field("x"))[0]).value == 4);
}

TEST_CASE("numbers of slots that no MEMOIZE gives are read without anybody being asked") {
  std::string text = second_batch;
  text.replace(text.find('\x94'), 1, "q\x0b");
  check_in_tree(read(head + first_batch + text + tail), 4);
}

TEST_CASE("pairs stay where something older refers to one of them") {
  // "o" is a list, memo number 6, which gets the second batch's last one, number 16.
  std::string older = head;
  older.insert(older.find("\x8c\x01p"), "\x8c\x01o\x94]\x94");
  std::string text = second_batch;
  text.replace(text.rfind('u'), 1,
               "h\x06h\x10"
               "a0u");
  const Read kept = read(older + first_batch + text + second_batch + tail);
  CHECK(kept.taken.keys == "abcdcd");
  CHECK(kept.taken.starts == 0);
  const auto items = kept.tree().items(kept.field("o"));
  REQUIRE(items.size() == 1);
  REQUIRE(kept.tree().items(items[0]).size() == 1);
  CHECK(kept.tree().integer(kept.tree().items(items[0])[0]).value == 4);
}

TEST_CASE("pairs that name a class stay: it may be fetched again") {
  std::string text = second_batch;
  text.replace(text.find("K\x03"), 2,
               "K\x03"
               "acx\ny\n\x94");
  const Read named = read(head + first_batch + text + "\x8c\x01x\x94h\x0d" + tail);
  CHECK(named.taken.keys == "abcd");
  CHECK(named.taken.starts == 0);
  CHECK(named.tree().qualified_name(named.field("x")) == QualifiedName{"x", "y"});
}

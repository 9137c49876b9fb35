// What pickles make by calls and fill afterwards, as other Pythons and other classes write it.
#include <algorithm>
#include <string>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

Pickle read(const std::string& text) {
  return read_pickle(std::make_shared<const Bytes>(bytes_of(text)), "test");
}

std::int64_t integer_at(const Pickle& pickle, NodeId map, std::string_view key) {
  return std::get<Integer>(pickle.tree.value(pickle.tree.find(map, key), 1).data).value;
}

bool tells(const Pickle& pickle, std::string_view code) {
  return std::ranges::any_of(pickle.findings, [&](const Finding& finding) { return finding.code == code; });
}

}  // namespace

TEST_CASE("an OrderedDict as Python 2 writes it, a call with a list of pairs, is a dict of them") {
  const Pickle pickle = read(
      "ccollections\nOrderedDict\np0\n((lp1\n(lp2\nS'scale'\np3\naI65536\naa(lp4\nS'n'\np5\naI3\naa(lp6\ng3\naI1024\na"
      "atp7\nRp8\n.");
  const Tree& tree = pickle.tree;
  REQUIRE(tree.kind(tree.root) == Kind::map);
  CHECK(tree.items(tree.root).size() == 4);
  CHECK(integer_at(pickle, tree.root, "scale") == 1024);
  CHECK(integer_at(pickle, tree.root, "n") == 3);
  for (const char* pair : {"(lI1\na", "(lI1\naI2\naI3\na"}) {
    CHECK_THROWS_AS(read("ccollections\nOrderedDict\n((l"s + pair + "atR."), Error);
  }
}

TEST_CASE("bytes that Python 2 could not have: a text with more than latin-1 in it stays a call") {
  const auto kind = [](const std::string& text) {
    const Pickle pickle = read("\x80\x02" + ("c_codecs\nencode\n" + text_op(text)) + text_op("latin1") + "\x86R.");
    return pickle.tree.kind(pickle.tree.root);
  };
  CHECK(kind("\x7f") == Kind::bytes);
  CHECK(kind("\xc2\x80") == Kind::bytes);
  CHECK(kind("\xc3\xbf") == Kind::bytes);
  CHECK(kind("\xc4\x80") == Kind::opaque);
  CHECK(kind("a\xe2\x82\xac") == Kind::opaque);
}

TEST_CASE("a second state adds to the first, whose dict stays what it was for others who show it") {
  const std::string first = "}q\x01(" + text_op("a") + "K\x01" + text_op("b") + "K\x02u";
  const std::string second = "}(" + text_op("b") + "K\x03" + text_op("c") + "K\x04u";
  const Pickle pickle = read("\x80\x02(c__main__\nScaler\n)\x81" + first + "b" + second + "bh\x01t.");
  const Tree& tree = pickle.tree;
  const auto both = tree.items(tree.root);
  REQUIRE(both.size() == 2);
  const NodeId state = tree.state(both[0]);
  REQUIRE(tree.kind(state) == Kind::map);
  CHECK(tree.items(state).size() == 6);
  CHECK(integer_at(pickle, state, "a") == 1);
  CHECK(integer_at(pickle, state, "b") == 3);
  CHECK(integer_at(pickle, state, "c") == 4);
  CHECK(tree.items(both[1]).size() == 4);
  CHECK(integer_at(pickle, both[1], "b") == 2);
}

TEST_CASE("what is set in, or added to, an object of a class that nobody knows stands beside its state") {
  const Pickle map = read("\x80\x02" + ("c__main__\nMap\n)\x81" + text_op("a")) + "K\x01s(" + text_op("b") + "K\x02u.");
  const NodeId entries = map.tree.contents(map.tree.root);
  REQUIRE(map.tree.kind(entries) == Kind::map);
  CHECK(map.tree.items(entries).size() == 4);
  CHECK(integer_at(map, entries, "a") == 1);
  CHECK(integer_at(map, entries, "b") == 2);

  const Pickle list = read("\x80\x02" + "c__main__\nList\n)\x81K\x01"s + "a(K\x02K\x03" + "e.");
  const NodeId items = list.tree.contents(list.tree.root);
  REQUIRE(list.tree.kind(items) == Kind::list);
  CHECK(list.tree.items(items).size() == 3);

  CHECK_THROWS_AS(read("\x80\x02K\x01" + text_op("a") + "K\x01s."), Error);  // a number
  CHECK_THROWS_AS(read("\x80\x02]" + text_op("a") + "K\x01s."), Error);      // a list, by a text
}

TEST_CASE("the persistent id of a module is its class, and one that nobody knows is kept and told") {
  const Pickle module =
      read("\x80\x02(" + text_op("module") + "ctorch.nn\nLinear\n" + text_op("a.py") + text_op("class Linear") + "tQ.");
  CHECK(module.tree.kind(module.tree.root) == Kind::name);
  CHECK_FALSE(tells(module, "persistent-id"));
  const Pickle other = read("\x80\x02(" + text_op("weights") + text_op("0") + "tQ.");
  CHECK(other.tree.kind(other.tree.root) == Kind::opaque);
  CHECK(tells(other, "persistent-id"));
  const Pickle line = read("Pweights-0\n.");  // protocol 0
  CHECK(line.tree.kind(line.tree.root) == Kind::opaque);
}

TEST_CASE("keys that Python takes for one are one: the first's place, the last's value") {
  const auto count = [](const std::string& pairs) {
    const Pickle pickle = read("\x80\x03}(" + pairs + "u.");
    const auto items = pickle.tree.items(pickle.tree.root);
    return std::pair(items.size() / 2, std::get<Integer>(pickle.tree.value(items[1], 1).data).value);
  };
  const std::string half = "G\x3f\xe0\0\0\0\0\0\0"s, one = "G\x3f\xf0\0\0\0\0\0\0"s;
  CHECK(count("C\1aK\x01" + "C\1aK\x02"s) == std::pair(std::size_t{1}, std::int64_t{2}));
  CHECK(count("C\1aK\x01" + text_op("a") + "K\x02") == std::pair(std::size_t{2}, std::int64_t{1}));
  CHECK(count(half + "K\x01" + half + "K\x02") == std::pair(std::size_t{1}, std::int64_t{2}));
  CHECK(count(one + "K\x01K\x01K\x02\x88K\x03") == std::pair(std::size_t{1}, std::int64_t{3}));
  CHECK(count("NK\x01NK\x04") == std::pair(std::size_t{1}, std::int64_t{4}));
  std::string many;
  for (char key = 'a'; key <= 'z'; ++key) many += text_op(std::string(2, key)) + "K\x01";
  CHECK(count(many) == std::pair(std::size_t{26}, std::int64_t{1}));
  CHECK(count(many + text_op("aa") + "K\x07") == std::pair(std::size_t{26}, std::int64_t{7}));
}

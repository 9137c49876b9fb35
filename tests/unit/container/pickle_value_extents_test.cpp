#include "lib/container/pickle/read/value_extents.hpp"

#include <string>

#include "lib/base/error.hpp"
#include "lib/container/pickle/write/rewrite.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace std::string_literals;

namespace {

Pickle read(const std::string& text) {
  return read_pickle(std::make_shared<const Bytes>(as_bytes(text).begin(), as_bytes(text).end()), "test");
}

/// The pickle after the value under `key` is changed.
std::string changed(const std::string& text, std::string_view key, NodeValue value) {
  const Pickle pickle = read(text);
  const PickleTensors tensors(pickle.tree, nullptr);
  const NodeChange change{pickle.tree.find(pickle.tree.root, key), std::move(value), std::string(key)};
  return std::string(as_text(rewrite_pickle(pickle, 0, tensors, std::span(&change, 1)).pickle));
}

/// {"a": 1, "b": [2, 3], "c": 4}, as protocol 2 writes it.
const std::string three =
    "\x80\x02}q\0(X\x01\0\0\0aq\x01K\x01X\x01\0\0\0bq\x02]q\x03(K\x02K\x03"
    "eX\x01\0\0\0cq\x04K\x04u."s;

}  // namespace

TEST_CASE("an item goes with its key, whatever its value is made of") {
  CHECK(changed(three, "b", Removal()) == "\x80\x02}q\0(X\x01\0\0\0aq\x01K\x01X\x01\0\0\0cq\x04K\x04u."s);
  CHECK(changed(three, "c", Removal()) ==
        "\x80\x02}q\0(X\x01\0\0\0aq\x01K\x01X\x01\0\0\0bq\x02]q\x03(K\x02K\x03"
        "eu."s);
}

TEST_CASE("an item that is set alone takes its opcode along") {
  const std::string one = "\x80\x02}q\0X\x01\0\0\0aq\x01K\x01s."s;
  CHECK(changed(one, "a", Removal()) == "\x80\x02}q\0."s);
}

TEST_CASE("another value stands where one was, and its key stays") {
  CHECK(changed(three, "b", NewDocument{{std::string("x")}}) ==
        "\x80\x02}q\0(X\x01\0\0\0aq\x01K\x01X\x01\0\0\0bq\x02X\x01\0\0\0xX\x01\0\0\0cq\x04K\x04u."s);
}

TEST_CASE("a name that is stored in the memo there is written where it is fetched first") {
  // {"a": f(), "b": f()}: b fetches the function that a named.
  const std::string calls =
      "\x80\x02}(X\x01\0\0\0a"
      "cm\nf\nq\x05)RX\x01\0\0\0bh\x05)RX\x01\0\0\0ch\x05)Ru."s;
  CHECK(changed(calls, "a", Removal()) ==
        "\x80\x02}(X\x01\0\0\0b"
        "cm\nf\nq\x05)RX\x01\0\0\0ch\x05)Ru."s);
}

TEST_CASE("a value of which another place has a part is not taken out") {
  // The list in a's is in b's, too.
  const std::string shared =
      "\x80\x02}(X\x01\0\0\0a](]q\x05K\x01"
      "eX\x01\0\0\0bh\x05u."s;
  CHECK_THROWS_WITH(changed(shared, "a", Removal()), Catch::Contains("shares a part"));
}

/// {"a": x, "b": y} of protocol 4: every opcode that makes something is followed by MEMOIZE.
std::string counted(const std::string& a, const std::string& b) {
  return "\x80\x04}\x94(\x8c\x01"
         "a\x94" +
         a +
         "\x8c\x01"
         "b\x94" +
         b + "u.";
}

TEST_CASE("where slots are numbered by counting, None fills those of what goes") {
  CHECK(changed(counted("]\x94(K\x02K\x03"s + "e", "]\x94h\x01"s + "a"), "b", Removal()) ==
        "\x80\x04}\x94(\x8c\x01"
        "a\x94]\x94(K\x02K\x03"
        "eN\x94\x94"
        "0u.");
  CHECK(changed(counted("K\x01", "K\x02"), "a", Removal()) ==
        "\x80\x04}\x94(N\x94"
        "0\x8c\x01"
        "b\x94K\x02u.");
}

TEST_CASE("where slots are numbered by counting, what is fetched later is made and dropped") {
  // a: [[1], f]; b: f, a class whose names are in slots as well.
  const std::string a =
      "]\x94(]\x94K\x01"
      "a\x8c\x01m\x94\x8c\x01"
      "f\x94\x93\x94"
      "e";
  CHECK(changed(counted(a, "h\x06"), "a", Removal()) ==
        "\x80\x04}\x94(N\x94\x94\x94"
        "0\x8c\x01m\x94\x8c\x01"
        "f\x94\x93\x94"
        "0\x8c\x01"
        "b\x94h\x06u.");
  // The whole inner list, with what is set in it after it is stored.
  CHECK(changed(counted(a, "h\x03"), "a", Removal()) ==
        "\x80\x04}\x94(N\x94\x94"
        "0]\x94K\x01"
        "a0N\x94\x94\x94"
        "0\x8c\x01"
        "b\x94h\x03u.");
}

TEST_CASE("what is fetched by what is fetched is made as well") {
  // a: [t, (t,)] and b: the tuple.
  CHECK(changed(counted("]\x94(\x8c\x01t\x94h\x03\x85\x94"s + "e", "h\x04"), "a", Removal()) ==
        "\x80\x04}\x94(N\x94\x94"
        "0\x8c\x01t\x94"
        "0h\x03\x85\x94"
        "0\x8c\x01"
        "b\x94h\x04u.");
}

TEST_CASE("a value that was made in passing is no item of the map that it was made in") {
  // b fetches the list that is dropped where a would stand: nothing else goes in its place.
  const std::string dropped =
      "\x80\x04}\x94(\x8c\x01"
      "c\x94K\x01]\x94"
      "0\x8c\x01"
      "b\x94h\x02u.";
  CHECK_THROWS_WITH(changed(dropped, "b", Removal()), Catch::Contains("no map"));
  CHECK(changed(dropped, "c", Removal()) ==
        "\x80\x04}\x94(N\x94"
        "0]\x94"
        "0\x8c\x01"
        "b\x94h\x02u.");
}

TEST_CASE("a pickle that numbers its memo by counting and by names loses nothing") {
  CHECK_THROWS_WITH(changed(counted("K\x01", "]q\x07"), "a", Removal()), Catch::Contains("by counting and by names"));
}

TEST_CASE("a frame that begins inside of what goes begins behind it, and the one before ends there") {
  const auto frame = [](char size) { return "\x95"s.append(1, size).append(7, '\0'); };
  const std::string head =
      "}\x94(\x8c\x01"
      "a\x94";
  const std::string text = "\x80\x04" + frame(7) + head + frame(8) +
                           "K\x01\x8c\x01"
                           "b\x94K\x02" +
                           frame(2) + "u.";
  CHECK(changed(text, "a", Removal()) == "\x80\x04" + frame(6) + "}\x94(N\x94"s + "0" + frame(6) +
                                             "\x8c\x01"
                                             "b\x94K\x02" +
                                             frame(2) + "u.");
  CHECK(changed(text, "b", Removal()) ==
        "\x80\x04" + frame(7) + head + frame(5) + "K\x01N\x94"s + "0" + frame(2) + "u.");
}

TEST_CASE("a value in a list has no item that could go") {
  const Pickle pickle = read(
      "\x80\x02](K\x01K\x02"
      "e."s);
  const PickleTensors tensors(pickle.tree, nullptr);
  const NodeChange change{pickle.tree.items(pickle.tree.root)[1], Removal(), "the second"};
  CHECK_THROWS_WITH(rewrite_pickle(pickle, 0, tensors, std::span(&change, 1)), Catch::Contains("no map"));
}

TEST_CASE("a tensor of bytes needs a file of torch") {
  const DocumentTensor tensor{element_type("uint8"), {1}, Bytes(1)};
  CHECK_THROWS_WITH(changed(three, "b", NewDocument{{tensor}}), Catch::Contains("uint8"));
}

#include "lib/container/pickle_outline.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "lib/base/error.hpp"
#include "lib/container/pickle_patch.hpp"

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

TEST_CASE("a pickle that numbers its memo by counting loses nothing") {
  const std::string counted =
      "\x80\x04}\x94(\x8c\x01"
      "a\x94K\x01\x8c\x01"
      "b\x94K\x02u."s;
  CHECK_THROWS_WITH(changed(counted, "a", Removal()), Catch::Contains("by counting"));
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

#include "lib/container/pickle/read/tensor_pattern.hpp"

#include <string>

#include "lib/container/pickle/read/machine.hpp"
#include "lib/container/pickle/read/tensor.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace std::string_literals;

namespace {

Pickle read(const std::string& text, TensorReading reading) {
  const auto bytes = std::make_shared<const Bytes>(as_bytes(text).begin(), as_bytes(text).end());
  return PickleMachine(bytes, "test", 0, reading).run();
}

std::string u(std::string_view text) {
  std::string op = "X";
  op += static_cast<char>(text.size());
  return op + "\0\0\0"s + std::string(text);
}

/// What torch writes before and for its first tensor: every name and word goes into the memo.
const std::string first_tensor = "\x80\x02]q\0("s + "ctorch._utils\n_rebuild_tensor_v2\nq\x01((" + u("storage") +
                                 "q\x02" + "ctorch\nFloatStorage\nq\x03" + u("0") + "q\x04" + u("cpu") +
                                 "q\x05K\x06tq\x06QK\0"s + "K\x02K\x03\x86q\x07K\x03K\x01\x86q\x08\x89" +
                                 "ccollections\nOrderedDict\nq\x09)Rq\x0atq\x0bRq\x0c";

/// The second tensor: only its key, sizes and strides are new.
const std::string second_tensor = "h\x01((h\x02h\x03"s + u("1") + "q\x0dh\x05M\x00\x01tq\x0eQK\x05"s +
                                  "(K\x01K\x02K\x03K\x04tq\x0f(K\x18K\x0cK\x04K\x01tq\x10\x89h\x09)Rq\x11tq\x12Rq\x13"s;

bool is_unread(const Pickle& pickle, NodeId tensor) {
  return pickle.tree.arguments(tensor) == nowhere;
}

void require_same(const Tensor& a, const Tensor& b) {
  CHECK(a.type.name == b.type.name);
  CHECK(a.shape == b.shape);
  CHECK(a.strides == b.strides);
  CHECK(a.offset == b.offset);
  CHECK(a.storage == b.storage);
  CHECK(a.storage_count == b.storage_count);
  CHECK(a.device == b.device);
}

}  // namespace

TEST_CASE("a tensor taken as a whole is described as one that is read opcode by opcode") {
  const std::string text = first_tensor + second_tensor + "e.";
  const Pickle whole = read(text, TensorReading::whole);
  const Pickle by_opcode = read(text, TensorReading::by_opcode);
  const auto tensors = whole.tree.items(whole.tree.root);
  const auto expected = by_opcode.tree.items(by_opcode.tree.root);
  REQUIRE(tensors.size() == 2);
  CHECK_FALSE(is_unread(whole, tensors[0]));
  CHECK(is_unread(whole, tensors[1]));
  CHECK_FALSE(is_unread(by_opcode, expected[1]));
  const PickleTensors ours(whole.tree, nullptr);
  const PickleTensors theirs(by_opcode.tree, nullptr);
  for (std::size_t i = 0; i < 2; ++i) require_same(ours.describe(tensors[i]), theirs.describe(expected[i]));
  CHECK(ours.describe(tensors[1]).shape == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("counts beyond what four bytes hold are written as LONG1, and taken in the run all the same") {
  struct Written {
    std::string number;
    std::int64_t value;
  };
  const Written numbers[] = {{"\x8a\x05\0\0\0\0\x01"s, 1LL << 32},
                             {"\x8a\x02\0\x01"s, 256},
                             {"\x8a\0"s, 0},
                             {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s, INT64_MAX}};
  for (const auto& [number, value] : numbers) {
    INFO(value);
    std::string tensor = second_tensor;
    tensor.replace(tensor.find("QK\x05"), 3, "Q" + number);
    const Pickle pickle = read(first_tensor + tensor + "e.", TensorReading::whole);
    const NodeId second = pickle.tree.items(pickle.tree.root)[1];
    CHECK(is_unread(pickle, second));
    CHECK(PickleTensors(pickle.tree, nullptr).describe(second).offset == value);
  }
  // A negative one, one of nine bytes, one that is cut short.
  for (const std::string& odd : {"\x8a\x01\x80"s, "\x8a\x09\0\0\0\0\0\0\0\0\0"s}) {
    std::string tensor = second_tensor;
    tensor.replace(tensor.find("QK\x05"), 3, "Q" + odd);
    const Pickle pickle = read(first_tensor + tensor + "e.", TensorReading::whole);
    CHECK_FALSE(is_unread(pickle, pickle.tree.items(pickle.tree.root)[1]));
  }
}

TEST_CASE("whatever differs from the run that torch writes is read opcode by opcode") {
  const auto changed = [](std::string_view from, std::string_view to) {
    std::string text = second_tensor;
    text.replace(text.find(from), from.size(), to);
    return read(first_tensor + text + "e.", TensorReading::whole);
  };
  // Another word than "storage" (its slot holds the key), a device that is no text, a tuple of another length than
  // said.
  for (const auto& [from, to] : {std::pair{"((h\x02h\x03"s, "((h\x04h\x03"s},
                                 {"q\x0dh\x05"s, "q\x0dh\x07"s},
                                 {"K\x04tq\x0f"s,
                                  "K\x04"
                                  "0tq\x0f"s},
                                 {"h\x09)R"s, "h\x01)R"s}}) {
    const Pickle pickle = changed(from, to);
    CHECK_FALSE(is_unread(pickle, pickle.tree.items(pickle.tree.root)[1]));
  }
}

TEST_CASE("a reference into a tensor that was left unread makes the machine read it all") {
  // The sizes of the second tensor, stored in slot 15, are fetched later.
  const std::string text = first_tensor + second_tensor +
                           "h\x0f"
                           "e.";
  CHECK_THROWS_AS(read(text, TensorReading::whole), NeedsEveryOpcode);
  const auto bytes = std::make_shared<const Bytes>(as_bytes(text).begin(), as_bytes(text).end());
  const Pickle pickle = read_pickle(bytes, "test");
  REQUIRE(pickle.tree.items(pickle.tree.root).size() == 3);
  CHECK(pickle.tree.items(pickle.tree.items(pickle.tree.root)[2]).size() == 4);
}

TEST_CASE("a run that is cut off anywhere is no pattern and never reads past the end") {
  for (std::size_t size = 0; size < second_tensor.size() - 2; ++size) {
    const std::string cut = second_tensor.substr(0, size);
    CHECK_FALSE(read_tensor_pattern(as_bytes(cut), 2).has_value());
  }
  // The last opcode stores the result; without it the pattern is whole.
  const std::string unstored = second_tensor.substr(0, second_tensor.size() - 2);
  CHECK(read_tensor_pattern(as_bytes(unstored), 2).has_value());
}

TEST_CASE("a run whose key says that it is longer than the rest of the file is no pattern") {
  const std::size_t key = second_tensor.find('X');  // and four bytes of its length
  const std::size_t rest = second_tensor.size() - key - 5;
  for (const std::size_t size : {rest, rest + 1, std::size_t{0x7fffffff}, std::size_t{0xffffffff}}) {
    std::string text = second_tensor;
    for (std::size_t i = 0; i < 4; ++i) text[key + 1 + i] = static_cast<char>(size >> (8 * i) & 0xff);
    INFO("a key of " << size << " bytes, where " << rest << " are left");
    CHECK_FALSE(read_tensor_pattern(as_bytes(text), 2).has_value());
  }
}

TEST_CASE("a run that begins with another opcode than torch's is no pattern, however it goes on") {
  REQUIRE(read_tensor_pattern(as_bytes(second_tensor), 2).has_value());
  for (std::size_t at = 2; at < second_tensor.find('X'); ++at) {
    const bool is_opcode = second_tensor[at] == '(' || second_tensor[at] == 'h';
    if (!is_opcode) continue;
    std::string text = second_tensor;
    text[at] = text[at] == '(' ? ')' : 'q';
    INFO("byte " << at);
    CHECK_FALSE(read_tensor_pattern(as_bytes(text), 2).has_value());
  }
}

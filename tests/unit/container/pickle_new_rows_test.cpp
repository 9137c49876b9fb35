// Another length of a tensor's first dimension, however its shape is written: torch's file is written anew with it.
#include <bit>
#include <string>

#include "lib/base/error.hpp"
#include "lib/container/node_change.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

/// Tensors of floats as torch 2 writes them: (2, 3); (1, 2, 3, 4), whose shape stands behind a mark; and (4, 2).
const std::string three_tensors = "\x80\x02]q\0("s + "ctorch._utils\n_rebuild_tensor_v2\nq\x01((" + text_op("storage") +
                                  "q\x02" + "ctorch\nFloatStorage\nq\x03" + text_op("0") + "q\x04" + text_op("cpu") +
                                  "q\x05K\x06tq\x06QK\0"s + "K\x02K\x03\x86q\x07K\x03K\x01\x86q\x08\x89" +
                                  "ccollections\nOrderedDict\nq\x09)Rq\x0atq\x0bRq\x0c" + "h\x01((h\x02h\x03" +
                                  text_op("1") + "q\x0dh\x05K\x18tq\x0eQK\0"s +
                                  "(K\x01K\x02K\x03K\x04tq\x0f(K\x18K\x0cK\x04K\x01tq\x10\x89h\x09)Rq\x11tq\x12Rq\x13" +
                                  "h\x01((h\x02h\x03" + text_op("2") + "q\x14h\x05K\x08tq\x15QK\0"s +
                                  "K\x04K\x02\x86q\x16K\x02K\x01\x86q\x17\x89h\x09)Rq\x18tq\x19Rq\x1a" + "e.";

Bytes zip_of_tensors(const std::string& pickle = three_tensors, std::string_view order = "little",
                     const Bytes& first = Bytes(6 * sizeof(float))) {
  ArchiveWriter zip;
  zip.add("model/data.pkl", as_bytes(pickle));
  zip.add("model/byteorder", as_bytes(order));
  zip.add("model/data/0", first);
  zip.add("model/data/1", Bytes(24 * sizeof(float)));
  zip.add("model/data/2", Bytes(8 * sizeof(float)));
  zip.add("model/version", as_bytes("3\n"));
  zip.finish();
  return zip.bytes();
}

Tensor tensor_of(const Container& container, std::size_t number) {
  return container.tree().tensor(node_at(container.tree(), {number}));
}

Bytes floats(std::initializer_list<float> numbers, std::endian order) {
  Bytes bytes;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    append_le(bytes, order == std::endian::little ? bits : swap_bytes(bits));
  }
  return bytes;
}

std::vector<double> numbers_of(const Container& container, std::size_t number) {
  const Value value = container.tree().value(node_at(container.tree(), {number}), 100);
  const auto& array = std::get<PackedArray>(value.data);
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < array.count(); ++i) numbers.push_back(array.number_at(i));
  return numbers;
}

}  // namespace

TEST_CASE(
    "a tensor that gets more rows, or fewer, has them when it is read again, and its neighbours are as they were") {
  const std::vector<std::vector<std::int64_t>> shapes = {{2, 3}, {1, 2, 3, 4}, {4, 2}};
  const Bytes image = zip_of_tensors();
  const auto container = open_image(image);
  for (std::size_t number = 0; number < shapes.size(); ++number) {
    REQUIRE(tensor_of(*container, number).shape == shapes[number]);
    for (const std::int64_t rows : {1, 3}) {
      INFO("tensor " << number << " with " << rows << " rows");
      std::vector<std::int64_t> shape = shapes[number];
      const std::int64_t row = static_cast<std::int64_t>(tensor_of(*container, number).count()) / shape[0];
      shape[0] = rows;
      Bytes elements;
      for (std::int64_t i = 0; i < rows * row; ++i) append_le(elements, 1.0F + static_cast<float>(i));
      const NodeChange change{node_at(container->tree(), {number}), NewTensor{shape, elements}, "a history"};
      const auto again = open_image(applied(image, container->change({&change, 1})));
      for (std::size_t other = 0; other < shapes.size(); ++other) {
        CHECK(tensor_of(*again, other).shape == (other == number ? shape : shapes[other]));
      }
      const Value now = again->tree().value(node_at(again->tree(), {number}), 100);
      CHECK(std::get<PackedArray>(now.data).number_at(static_cast<std::uint64_t>(rows * row - 1)) ==
            static_cast<double>(rows * row));
    }
  }
}

TEST_CASE("a view that steps through its storage reads in its own order, and an element is changed where it stands") {
  // (2, 3) with strides (1, 2): the transposed of (3, 2).
  std::string transposed = three_tensors;
  const std::string strides = "K\x03K\x01\x86q\x08";
  transposed.replace(transposed.find(strides), 4, "K\x01K\x02");
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const std::string_view name = order == std::endian::little ? "little" : "big";
    const Bytes image = zip_of_tensors(transposed, name, floats({0, 1, 2, 3, 4, 5}, order));
    const auto container = open_image(image);
    CHECK(numbers_of(*container, 0) == std::vector<double>{0, 2, 4, 1, 3, 5});
    const NodeChange change{node_at(container->tree(), {0U}), NewElements{{.index = 1, .value = 64}}, "an element"};
    const Bytes after = applied(image, container->change({&change, 1}));
    CHECK(numbers_of(*open_image(after), 0) == std::vector<double>{0, 64, 4, 1, 3, 5});
    const NodeChange rows{node_at(container->tree(), {0U}), NewTensor{{1, 3}, Bytes(12)}, "rows"};
    CHECK_THROWS_AS(container->change({&rows, 1}), Error);
  }
}

TEST_CASE("no element is changed of a view that shows bytes twice, as torch's expand and unfold make it") {
  const std::string sizes = "K\x02K\x03\x86q\x07";
  const std::string strides = "K\x03K\x01\x86q\x08";
  for (const auto& [rows, columns, by_row, by_column, is_alone] : {std::tuple{2, 3, 3, 1, true},
                                                                   {2, 3, 0, 1, false},
                                                                   {2, 3, 1, 0, false},
                                                                   {2, 3, 1, 1, false},
                                                                   {2, 3, 1, 2, true},
                                                                   {2, 3, 2, 1, false},
                                                                   {2, 2, 2, 3, true},
                                                                   {1, 3, 0, 1, true},
                                                                   {3, 1, 1, 0, true}}) {
    std::string pickle = three_tensors;
    const auto put = [&](const std::string& at, int first, int second) {
      pickle.replace(pickle.find(at), 4, {'K', static_cast<char>(first), 'K', static_cast<char>(second)});
    };
    put(sizes, rows, columns);
    put(strides, by_row, by_column);
    INFO(rows << " x " << columns << " by " << by_row << " and " << by_column);
    const auto container = open_image(zip_of_tensors(pickle));
    const auto last = static_cast<std::uint64_t>(rows * columns - 1);
    const NodeChange one{node_at(container->tree(), {0U}), NewElements{{.index = last, .value = 64}}, "an element"};
    const NodeChange all{one.node, NewElements{{.value = 64, .count = last + 1}}, "all"};
    for (const NodeChange& change : {one, all}) {
      if (is_alone) {
        CHECK_NOTHROW(container->change({&change, 1}));
      } else {
        CHECK_THROWS_WITH(container->change({&change, 1}), Catch::Contains("the tensor's strides overlap"));
      }
    }
  }
}

TEST_CASE("rows of a file of a big-endian machine are written in its order") {
  const Bytes image = zip_of_tensors(three_tensors, "big", floats({0, 1, 2, 3, 4, 5}, std::endian::big));
  const auto container = open_image(image);
  for (const std::int64_t rows : {1, 2, 3}) {
    Bytes elements;
    std::vector<double> wanted;
    for (std::int64_t i = 0; i < rows * 3; ++i) {
      wanted.push_back(static_cast<double>(10 + i));
      append_le(elements, 10.0F + static_cast<float>(i));
    }
    const NodeChange change{node_at(container->tree(), {0U}), NewTensor{{rows, 3}, elements}, "a history"};
    CHECK(numbers_of(*open_image(applied(image, container->change({&change, 1}))), 0) == wanted);
  }
}

TEST_CASE("a tensor that comes anew into a file of a big-endian machine is written in its order") {
  std::string with_none = three_tensors;
  with_none.insert(with_none.size() - 2, "N");
  for (const std::string_view order : {"little", "big"}) {
    const auto container = open_image(zip_of_tensors(with_none, order));
    const NodeId none = node_at(container->tree(), {3U});
    REQUIRE(container->tree().kind(none) == Kind::none);
    const DocumentTensor scale{element_type("float32"), {2}, floats({65536, 0.5}, std::endian::little)};
    const NodeChange change{none, NewDocument{{scale}}, "a scale"};
    const auto after = open_image(applied(zip_of_tensors(with_none, order), container->change({&change, 1})));
    CHECK(numbers_of(*after, 3) == std::vector<double>{65536, 0.5});
  }
}

TEST_CASE("a tensor takes rows of its own form alone") {
  const auto container = open_image(zip_of_tensors());
  const NodeId first = node_at(container->tree(), {0U});
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, 2}, {6}, {2, 3, 1}, {}}) {
    const NodeChange change{first, NewTensor{shape, Bytes(24)}, "a history"};
    CHECK_THROWS_AS(container->change({&change, 1}), Error);
  }
  const NodeChange bytes{first, NewContents{Bytes(24)}, "floats as a row of bytes"};
  CHECK_THROWS_AS(container->change({&bytes, 1}), Error);
}

TEST_CASE("a tensor that torch negates or conjugates as it shows it is no tensor of the numbers that it stores") {
  const auto tensor = [](const std::string& metadata) {
    return "ctorch._utils\n_rebuild_tensor_v2\n(("s + text_op("storage") + "ctorch\nFloatStorage\n" + text_op("0") +
           text_op("cpu") + "K\x01tQK\0K\x01\x85K\x01\x85\x89"s + "ccollections\nOrderedDict\n)R" + metadata + "tR";
  };
  const auto opened = [&](const std::string& metadata) {
    return open_image(zip_of_tensors("\x80\x02](" + tensor("") + tensor(metadata) + "e.", "little",
                                     floats({4}, std::endian::little)));
  };
  for (const std::string& nothing : {""s, "N"s, "}"s}) {
    CHECK(tensor_of(*opened(nothing), 1).type_text() == "tensor:float32[1]");
  }
  const std::string negated = "}" + text_op("neg") + "\x88s";
  CHECK(tensor_of(*opened("}" + text_op("conj") + "\x88s"), 1).type_text() == "tensor:conjugated[1]");
  const auto container = opened(negated);
  CHECK(tensor_of(*container, 0).type_text() == "tensor:float32[1]");
  CHECK(tensor_of(*container, 1).type_text() == "tensor:negated[1]");
  CHECK(container->tree().value(node_at(container->tree(), {1U}), 100).number() == nullptr);
  const NodeChange change{node_at(container->tree(), {1U}), 2.0, "a scale"};
  CHECK_THROWS_AS(container->change({&change, 1}), Error);
}
